# What a Debian 12 machine of the control plane is told at its first start, as cloud-init takes it. Without a cloud's
# provider, so that both modules share it and it can be looked at without either. No secret passes here: a machine is told
# where its secrets are, and fetches them as itself.
locals {
  order    = [for each in ["api", "enrol", "worker", "beat"] : each if contains(keys(var.services), each)]
  settings = merge(var.settings, { IMAGE = var.image, SERVICES = join(" ", local.order) })
  services = {
    for each in local.order : "ringmaster-${each}.service" => templatefile("${path.module}/files/service.tftpl", {
      service = each
      memory  = var.services[each]
    })
  }
  units = merge(
    { for each in fileset("${path.module}/files/units", "*") : each => file("${path.module}/files/units/${each}") },
    local.services,
  )
  files = concat(
    [
      {
        path        = "/etc/ringmaster/environment"
        permissions = "0644"
        content     = join("", [for name, value in var.environment : "${name}=${value}\n"])
      },
      {
        path        = "/etc/ringmaster/secrets"
        permissions = "0644"
        content     = join("", [for name, reference in var.secrets : "${name} ${reference}\n"])
      },
      {
        path        = "/etc/ringmaster/machine"
        permissions = "0644"
        content     = join("", [for name, value in local.settings : "${name}='${value}'\n"])
      },
      {
        path        = "/etc/ringmaster/files/README"
        permissions = "0644"
        content     = "Files that the processes read and that are no secrets.\n"
      },
      {
        path        = "/usr/local/lib/ringmaster/cloud"
        permissions = "0644"
        content     = file("${path.module}/files/cloud-${var.cloud}")
      },
      {
        path        = "/usr/local/sbin/ringmaster"
        permissions = "0755"
        content     = file("${path.module}/files/ringmaster")
      },
    ],
    [for name, text in var.files : { path = "/etc/ringmaster/files/${name}", permissions = "0644", content = text }],
    [for name, text in local.units : { path = "/etc/systemd/system/${name}", permissions = "0644", content = text }],
  )
  document = {
    package_update = true
    packages       = concat(["ca-certificates", "curl", "docker.io"], var.packages)
    write_files    = local.files
    runcmd = concat(
      var.commands,
      [
        "systemctl daemon-reload",
        "systemctl enable ${join(" ", concat(["ringmaster.target"], keys(local.services), ["ringmaster-password.timer", "ringmaster-watch.timer"]))}",
        "systemctl start --no-block ringmaster.target",
        "/usr/local/sbin/ringmaster ready",
      ],
    )
  }
}
