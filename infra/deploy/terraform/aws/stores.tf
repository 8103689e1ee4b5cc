# What must not be lost: with the master key, everything that the control plane knows.
locals {
  database_secret = aws_db_instance.this.master_user_secret[0].secret_arn
}

resource "aws_db_subnet_group" "this" {
  name       = var.name
  subnet_ids = [for each in aws_subnet.stores : each.id]
  tags       = local.tags
}

resource "aws_db_instance" "this" {
  identifier     = var.name
  engine         = "postgres"
  engine_version = "15"
  instance_class = var.database_type
  db_name        = "ringmaster"
  username       = "ringmaster"
  # RDS makes the password, keeps it in Secrets Manager and changes it; Terraform never sees it.
  manage_master_user_password = true

  storage_type          = "gp3"
  allocated_storage     = var.database_gib
  max_allocated_storage = 4 * var.database_gib
  storage_encrypted     = true

  multi_az               = true
  publicly_accessible    = false
  db_subnet_group_name   = aws_db_subnet_group.this.name
  vpc_security_group_ids = [aws_security_group.database.id]

  backup_retention_period    = var.database_backup_days
  copy_tags_to_snapshot      = true
  skip_final_snapshot        = false
  final_snapshot_identifier  = "${var.name}-last"
  deletion_protection        = var.deletion_protection
  auto_minor_version_upgrade = true

  enabled_cloudwatch_logs_exports = ["postgresql"]
  tags                            = local.tags

  lifecycle {
    prevent_destroy = true
  }
}

resource "aws_elasticache_subnet_group" "this" {
  name       = var.name
  subnet_ids = [for each in aws_subnet.stores : each.id]
  tags       = local.tags
}

# Keeps nothing: a doorbell. Who is not in the control plane's security groups does not reach it, so it has no password,
# which would be in Terraform's state.
resource "aws_elasticache_replication_group" "this" {
  replication_group_id       = var.name
  description                = "Ringmaster: wakes workers"
  engine                     = "redis"
  engine_version             = "7.1"
  node_type                  = var.redis_type
  num_cache_clusters         = 2
  automatic_failover_enabled = true
  multi_az_enabled           = true
  transit_encryption_enabled = true
  at_rest_encryption_enabled = true
  snapshot_retention_limit   = 0
  subnet_group_name          = aws_elasticache_subnet_group.this.name
  security_group_ids         = [aws_security_group.redis.id]
  tags                       = local.tags
}
