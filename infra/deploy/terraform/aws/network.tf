# A network of its own: balancers and ways out in the public subnets, machines in the private ones, stores in those
# without any way out.
locals {
  tags  = merge(var.tags, { ringmaster = var.name })
  zones = { for index, zone in var.zones : zone => index }
}

resource "aws_vpc" "this" {
  cidr_block           = var.network
  enable_dns_support   = true
  enable_dns_hostnames = true
  tags                 = merge(local.tags, { Name = var.name })
}

resource "aws_internet_gateway" "this" {
  vpc_id = aws_vpc.this.id
  tags   = merge(local.tags, { Name = var.name })
}

resource "aws_subnet" "public" {
  for_each          = local.zones
  vpc_id            = aws_vpc.this.id
  availability_zone = each.key
  cidr_block        = cidrsubnet(var.network, 4, each.value)
  tags              = merge(local.tags, { Name = "${var.name}-public-${each.key}" })
}

resource "aws_subnet" "machines" {
  for_each          = local.zones
  vpc_id            = aws_vpc.this.id
  availability_zone = each.key
  cidr_block        = cidrsubnet(var.network, 4, 4 + each.value)
  tags              = merge(local.tags, { Name = "${var.name}-machines-${each.key}" })
}

resource "aws_subnet" "stores" {
  for_each          = local.zones
  vpc_id            = aws_vpc.this.id
  availability_zone = each.key
  cidr_block        = cidrsubnet(var.network, 4, 8 + each.value)
  tags              = merge(local.tags, { Name = "${var.name}-stores-${each.key}" })
}

resource "aws_route_table" "public" {
  vpc_id = aws_vpc.this.id
  tags   = merge(local.tags, { Name = "${var.name}-public" })
}

resource "aws_route" "public" {
  route_table_id         = aws_route_table.public.id
  destination_cidr_block = "0.0.0.0/0"
  gateway_id             = aws_internet_gateway.this.id
}

resource "aws_route_table_association" "public" {
  for_each       = local.zones
  subnet_id      = aws_subnet.public[each.key].id
  route_table_id = aws_route_table.public.id
}

# A way out for each zone, with an address that stays: agents believe it, and a zone does not need another.
resource "aws_eip" "out" {
  for_each   = local.zones
  domain     = "vpc"
  tags       = merge(local.tags, { Name = "${var.name}-out-${each.key}" })
  depends_on = [aws_internet_gateway.this]
}

resource "aws_nat_gateway" "out" {
  for_each      = local.zones
  subnet_id     = aws_subnet.public[each.key].id
  allocation_id = aws_eip.out[each.key].id
  tags          = merge(local.tags, { Name = "${var.name}-out-${each.key}" })
}

resource "aws_route_table" "machines" {
  for_each = local.zones
  vpc_id   = aws_vpc.this.id
  tags     = merge(local.tags, { Name = "${var.name}-machines-${each.key}" })
}

resource "aws_route" "machines" {
  for_each               = local.zones
  route_table_id         = aws_route_table.machines[each.key].id
  destination_cidr_block = "0.0.0.0/0"
  nat_gateway_id         = aws_nat_gateway.out[each.key].id
}

resource "aws_route_table_association" "machines" {
  for_each       = local.zones
  subnet_id      = aws_subnet.machines[each.key].id
  route_table_id = aws_route_table.machines[each.key].id
}

resource "aws_route_table" "stores" {
  vpc_id = aws_vpc.this.id
  tags   = merge(local.tags, { Name = "${var.name}-stores" })
}

resource "aws_route_table_association" "stores" {
  for_each       = local.zones
  subnet_id      = aws_subnet.stores[each.key].id
  route_table_id = aws_route_table.stores.id
}

resource "aws_security_group" "console" {
  name        = "${var.name}-console"
  description = "Balancer of console and API"
  vpc_id      = aws_vpc.this.id
  tags        = local.tags

  ingress {
    description = "Console and API"
    protocol    = "tcp"
    from_port   = 443
    to_port     = 443
    cidr_blocks = var.console_from
  }
  egress {
    description = "API"
    protocol    = "tcp"
    from_port   = 8000
    to_port     = 8000
    cidr_blocks = [for each in aws_subnet.machines : each.cidr_block]
  }
}

resource "aws_security_group" "enrol" {
  name        = "${var.name}-enrol"
  description = "Balancer of enrolment"
  vpc_id      = aws_vpc.this.id
  tags        = local.tags

  ingress {
    description = "New machines"
    protocol    = "tcp"
    from_port   = 8444
    to_port     = 8444
    cidr_blocks = var.enrol_from
  }
  egress {
    description = "Enrolment"
    protocol    = "tcp"
    from_port   = 8444
    to_port     = 8444
    cidr_blocks = [for each in aws_subnet.machines : each.cidr_block]
  }
}

resource "aws_security_group" "api" {
  name        = "${var.name}-api"
  description = "Machines with API and enrolment"
  vpc_id      = aws_vpc.this.id
  tags        = local.tags

  ingress {
    description     = "API"
    protocol        = "tcp"
    from_port       = 8000
    to_port         = 8000
    security_groups = [aws_security_group.console.id]
  }
  ingress {
    description     = "Enrolment"
    protocol        = "tcp"
    from_port       = 8444
    to_port         = 8444
    security_groups = [aws_security_group.enrol.id]
  }
  egress {
    description = "Clouds, registry, stores"
    protocol    = "-1"
    from_port   = 0
    to_port     = 0
    cidr_blocks = ["0.0.0.0/0"]
  }
}

resource "aws_security_group" "worker" {
  name        = "${var.name}-worker"
  description = "Machines with workers: nothing comes in"
  vpc_id      = aws_vpc.this.id
  tags        = local.tags

  egress {
    description = "Clouds, agents, registry, stores"
    protocol    = "-1"
    from_port   = 0
    to_port     = 0
    cidr_blocks = ["0.0.0.0/0"]
  }
}

resource "aws_security_group" "database" {
  name        = "${var.name}-database"
  description = "Postgres"
  vpc_id      = aws_vpc.this.id
  tags        = local.tags

  ingress {
    description     = "Control plane"
    protocol        = "tcp"
    from_port       = 5432
    to_port         = 5432
    security_groups = [aws_security_group.api.id, aws_security_group.worker.id]
  }
}

resource "aws_security_group" "redis" {
  name        = "${var.name}-redis"
  description = "Redis"
  vpc_id      = aws_vpc.this.id
  tags        = local.tags

  ingress {
    description     = "Control plane"
    protocol        = "tcp"
    from_port       = 6379
    to_port         = 6379
    security_groups = [aws_security_group.api.id, aws_security_group.worker.id]
  }
}
