# Two roles: both read their own secrets and image; only workers speak to clouds.
locals {
  parts = toset(["api", "worker"])
  trust = jsonencode({
    Version = "2012-10-17"
    Statement = [{
      Effect    = "Allow"
      Action    = "sts:AssumeRole"
      Principal = { Service = "ec2.amazonaws.com" }
    }]
  })
  # Of an image in ECR: account, region and repository.
  registry = try(regex("^([0-9]{12})[.]dkr[.]ecr[.]([a-z0-9-]+)[.]amazonaws[.]com/([^:@]+)", var.image), null)

  machine_statements = concat(
    [
      {
        Sid      = "OwnSecrets"
        Effect   = "Allow"
        Action   = ["secretsmanager:GetSecretValue"]
        Resource = concat(values(var.secrets), [local.database_secret])
      },
      {
        Sid      = "OwnLogs"
        Effect   = "Allow"
        Action   = ["logs:CreateLogStream", "logs:PutLogEvents"]
        Resource = ["${aws_cloudwatch_log_group.this.arn}:*"]
      },
      {
        Sid      = "Shells"
        Effect   = "Allow"
        Action   = ["ssm:UpdateInstanceInformation", "ssmmessages:CreateControlChannel", "ssmmessages:CreateDataChannel", "ssmmessages:OpenControlChannel", "ssmmessages:OpenDataChannel"]
        Resource = ["*"]
      },
    ],
    [for keys in [var.kms_keys] : {
      Sid      = "OwnKeys"
      Effect   = "Allow"
      Action   = ["kms:Decrypt"]
      Resource = keys
    } if length(keys) > 0],
    [for image in [local.registry] : {
      Sid      = "OwnImage"
      Effect   = "Allow"
      Action   = ["ecr:BatchGetImage", "ecr:GetDownloadUrlForLayer", "ecr:BatchCheckLayerAvailability"]
      Resource = ["arn:aws:ecr:${image[1]}:${image[0]}:repository/${image[2]}"]
    } if image != null],
    [for image in [local.registry] : {
      Sid      = "SignInToRegistry"
      Effect   = "Allow"
      Action   = ["ecr:GetAuthorizationToken"]
      Resource = ["*"]
    } if image != null],
  )
}

resource "aws_iam_role" "machine" {
  for_each           = local.parts
  name               = "${var.name}-control-plane-${each.key}"
  assume_role_policy = local.trust
  tags               = local.tags
}

resource "aws_iam_instance_profile" "machine" {
  for_each = local.parts
  name     = aws_iam_role.machine[each.key].name
  role     = aws_iam_role.machine[each.key].name
  tags     = local.tags
}

resource "aws_iam_role_policy" "machine" {
  for_each = local.parts
  name     = "machine"
  role     = aws_iam_role.machine[each.key].id
  policy   = jsonencode({ Version = "2012-10-17", Statement = local.machine_statements })
}

# A new machine says when it is ready, and its group goes on.
resource "aws_iam_role_policy" "ready" {
  for_each = local.parts
  name     = "ready"
  role     = aws_iam_role.machine[each.key].id
  policy = jsonencode({
    Version = "2012-10-17"
    Statement = [{
      Effect    = "Allow"
      Action    = ["autoscaling:CompleteLifecycleAction"]
      Resource  = ["*"]
      Condition = { StringEquals = { "autoscaling:ResourceTag/ringmaster" = var.name } }
    }]
  })
}

# What the provider `aws` calls: docs/aws.md. The same documents that a brought account takes.
resource "aws_iam_role_policy" "clouds" {
  name   = "clouds"
  role   = aws_iam_role.machine["worker"].id
  policy = file("${path.module}/../../../aws/policy.json")
}

resource "aws_iam_role_policy" "prices" {
  name   = "prices"
  role   = aws_iam_role.machine["worker"].id
  policy = file("${path.module}/../../../aws/prices-policy.json")
}
