"""What every Django endpoint shares: parsing wire models, errors, pagination, blobs, live publishing."""
