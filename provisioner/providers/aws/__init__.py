"""The provider `aws`. See docs/aws.md."""
