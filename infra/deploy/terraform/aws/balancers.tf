# The console's balancer ends TLS; enrolment's passes it on, as enrolment shows a certificate of its own.
resource "aws_lb" "console" {
  name                       = "${var.name}-console"
  load_balancer_type         = "application"
  internal                   = false
  subnets                    = [for each in aws_subnet.public : each.id]
  security_groups            = [aws_security_group.console.id]
  drop_invalid_header_fields = true
  # Streams of events say something every 15 seconds.
  idle_timeout               = 120
  enable_deletion_protection = var.deletion_protection
  tags                       = local.tags
}

resource "aws_lb_target_group" "console" {
  name                 = "${var.name}-console"
  vpc_id               = aws_vpc.this.id
  port                 = 8000
  protocol             = "HTTP"
  target_type          = "instance"
  deregistration_delay = 30
  tags                 = local.tags

  health_check {
    path                = "/readyz"
    matcher             = "200"
    interval            = 10
    timeout             = 5
    healthy_threshold   = 2
    unhealthy_threshold = 3
  }
}

resource "aws_lb_listener" "console" {
  load_balancer_arn = aws_lb.console.arn
  port              = 443
  protocol          = "HTTPS"
  ssl_policy        = "ELBSecurityPolicy-TLS13-1-2-2021-06"
  certificate_arn   = var.certificate
  tags              = local.tags

  default_action {
    type             = "forward"
    target_group_arn = aws_lb_target_group.console.arn
  }
}

resource "aws_lb" "enrol" {
  name                             = "${var.name}-enrol"
  load_balancer_type               = "network"
  internal                         = false
  subnets                          = [for each in aws_subnet.public : each.id]
  security_groups                  = [aws_security_group.enrol.id]
  enable_cross_zone_load_balancing = true
  enable_deletion_protection       = var.deletion_protection
  tags                             = local.tags
}

resource "aws_lb_target_group" "enrol" {
  name                 = "${var.name}-enrol"
  vpc_id               = aws_vpc.this.id
  port                 = 8444
  protocol             = "TCP"
  target_type          = "instance"
  deregistration_delay = 30
  tags                 = local.tags

  health_check {
    protocol            = "TCP"
    interval            = 10
    healthy_threshold   = 3
    unhealthy_threshold = 3
  }
}

resource "aws_lb_listener" "enrol" {
  load_balancer_arn = aws_lb.enrol.arn
  port              = 8444
  protocol          = "TCP"
  tags              = local.tags

  default_action {
    type             = "forward"
    target_group_arn = aws_lb_target_group.enrol.arn
  }
}
