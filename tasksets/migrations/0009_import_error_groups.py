from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('tasksets', '0008_analyses'),
    ]

    operations = [
        migrations.AddField(
            model_name='import',
            name='remembered',
            field=models.BooleanField(default=False),
        ),
        migrations.AddField(
            model_name='importproblem',
            name='family',
            field=models.TextField(default=''),
        ),
    ]
