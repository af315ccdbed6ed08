from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("runs", "0003_secrets_and_supplied_models")]

    operations = [
        migrations.RenameField(model_name="blob", old_name="created_at", new_name="stored_at"),
        migrations.AlterField(model_name="blob", name="stored_at", field=models.DateTimeField()),
        migrations.AddIndex(model_name="blobuse", index=models.Index(fields=["sha256"], name="blob_use_by_sha256")),
    ]
