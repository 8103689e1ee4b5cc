locals {
  region  = regex("^[a-z]+(?:-[a-z]+)+-[0-9]+", var.zones[0])
  outside = [for each in aws_eip.out : "${each.public_ip}/32"]
  # Who comes by a private way (peering, a VPC that is given) comes from the network itself.
  agents_from = join(",", concat(sort(local.outside), [var.network]))

  environment = merge(
    {
      RINGMASTER_PUBLIC_URL        = "https://${var.console_host}"
      RINGMASTER_ENROL_URL         = "https://${var.enrol_host}:8444/enrol/v1"
      RINGMASTER_ALERTS_TOKEN_FILE = "/var/lib/ringmaster/metrics/alerts.token"
      RINGMASTER_AWS_INSTALLATION  = var.name
      RINGMASTER_AWS_PRINCIPAL     = aws_iam_role.machine["worker"].arn
      RINGMASTER_AWS_AGENTS_FROM   = local.agents_from
      RINGMASTER_GCP_AGENTS_FROM   = local.agents_from
      # Whom uvicorn believes what it says of others' addresses: the console's balancer.
      FORWARDED_ALLOW_IPS = join(",", [for each in aws_subnet.public : each.cidr_block])
    },
    var.environment,
    {
      DATABASE_URL = "postgresql://ringmaster@${aws_db_instance.this.address}:5432/ringmaster?sslmode=verify-full&sslrootcert=/etc/ringmaster/files/database-ca.pem"
      REDIS_URL    = "rediss://${aws_elasticache_replication_group.this.primary_endpoint_address}:6379/0?ssl_cert_reqs=required"
    },
  )

  groups = {
    api = {
      type     = var.api_type
      count    = var.api_count
      security = aws_security_group.api.id
      targets  = [aws_lb_target_group.console.arn, aws_lb_target_group.enrol.arn]
      services = { api = "1g", enrol = "512m" }
    }
    worker = {
      type     = var.worker_type
      count    = var.worker_count
      security = aws_security_group.worker.id
      targets  = []
      services = { worker = "2g", beat = "512m" }
    }
  }
}

module "machine" {
  for_each    = local.groups
  source      = "../machine"
  cloud       = "aws"
  services    = each.value.services
  image       = var.image
  environment = local.environment
  secrets     = var.secrets
  packages    = ["awscli"]
  settings = {
    REGION          = local.region
    GROUP           = "${var.name}-${each.key}"
    LOG             = aws_cloudwatch_log_group.this.name
    DATABASE_SECRET = local.database_secret
  }
  commands = [
    # Debian has no package of the agent that Session Manager needs. A machine without it works too.
    "curl --silent --show-error --fail --retry 5 --output /run/agent.deb \"https://s3.${local.region}.amazonaws.com/amazon-ssm-${local.region}/latest/debian_$(dpkg --print-architecture)/amazon-ssm-agent.deb\" && dpkg --install /run/agent.deb",
  ]
}

resource "aws_cloudwatch_log_group" "this" {
  name              = "/ringmaster/${var.name}"
  retention_in_days = var.log_days
  tags              = local.tags
}

resource "aws_launch_template" "machine" {
  for_each               = local.groups
  name                   = "${var.name}-${each.key}"
  image_id               = var.machine_image
  instance_type          = each.value.type
  user_data              = base64gzip(module.machine[each.key].user_data)
  update_default_version = true
  tags                   = local.tags

  vpc_security_group_ids = [each.value.security]

  iam_instance_profile {
    arn = aws_iam_instance_profile.machine[each.key].arn
  }

  # The containers share the machine's network, so one hop is enough for them, and too few for anything behind them.
  metadata_options {
    http_endpoint               = "enabled"
    http_tokens                 = "required"
    http_put_response_hop_limit = 1
  }

  block_device_mappings {
    device_name = "/dev/xvda"
    ebs {
      volume_type           = "gp3"
      volume_size           = 20
      encrypted             = true
      delete_on_termination = true
    }
  }

  tag_specifications {
    resource_type = "instance"
    tags          = merge(local.tags, { Name = "${var.name}-${each.key}" })
  }
  tag_specifications {
    resource_type = "volume"
    tags          = merge(local.tags, { Name = "${var.name}-${each.key}" })
  }
}

resource "aws_autoscaling_group" "machine" {
  for_each            = local.groups
  name                = "${var.name}-${each.key}"
  min_size            = each.value.count
  max_size            = each.value.count
  desired_capacity    = each.value.count
  vpc_zone_identifier = [for each in aws_subnet.machines : each.id]
  target_group_arns   = each.value.targets
  # Not the balancer's view of /readyz: a database that is away must not get every machine replaced.
  health_check_type         = "EC2"
  health_check_grace_period = 60
  wait_for_capacity_timeout = "25m"

  launch_template {
    id      = aws_launch_template.machine[each.key].id
    version = aws_launch_template.machine[each.key].latest_version
  }

  # A machine counts once it has said that its services are up: see `ringmaster ready`. One that never does is ended.
  initial_lifecycle_hook {
    name                 = "ready"
    lifecycle_transition = "autoscaling:EC2_INSTANCE_LAUNCHING"
    heartbeat_timeout    = 1200
    default_result       = "ABANDON"
  }

  # One at a time.
  instance_refresh {
    strategy = "Rolling"
    preferences {
      min_healthy_percentage = floor(100 * (each.value.count - 1) / each.value.count)
      instance_warmup        = 30
      auto_rollback          = true
    }
  }

  dynamic "tag" {
    for_each = merge(local.tags, { Name = "${var.name}-${each.key}" })
    content {
      key                 = tag.key
      value               = tag.value
      propagate_at_launch = true
    }
  }

  # A machine fetches all of this when it starts.
  depends_on = [
    aws_iam_role_policy.machine,
    aws_iam_role_policy.ready,
    aws_iam_role_policy.clouds,
    aws_iam_role_policy.prices,
    aws_route.machines,
    aws_route_table_association.machines,
    aws_lb_listener.console,
    aws_lb_listener.enrol,
  ]
}
