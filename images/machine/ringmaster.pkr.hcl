# Machine images for database nodes; see README.md. No required_plugins block: Packer 1.6.6 knows none, and brings the plugins.

variable "engine" {
  type        = string
  description = "Either cassandra or scylla, or none for a machine without one, to try all the rest."
  default     = "cassandra"
}

variable "engine_version" {
  type        = string
  description = "For Cassandra, there must be cassandra/versions/VERSION.lock."
  default     = "5.0.9"
}

variable "architecture" {
  type        = string
  description = "Either x86_64 or arm64."
  default     = "x86_64"
}

variable "agent_version" {
  type    = string
  default = "0.1.0"
}

variable "agent_binary" {
  type        = string
  description = "The agent, built statically for the architecture."
  default     = "agent"
}

variable "build_id" {
  type        = string
  description = "Names this bake, for example a date and a commit."
  default     = "local"
}

variable "sbom_file" {
  type        = string
  description = "Where the list of what is in the image is put."
  default     = "sbom.spdx.json"
}

variable "manifest_file" {
  type        = string
  description = "Where Packer says what it has built, for `manage.py register_images`."
  default     = "manifest.json"
}

variable "aws_region" {
  type    = string
  default = "us-east-1"
}

variable "aws_endpoint" {
  type        = string
  description = "Another EC2 than AWS's own, for tests."
  default     = ""
}

variable "gcp_project" {
  type    = string
  default = "unset"
}

variable "gcp_zone" {
  type    = string
  default = "us-central1-a"
}

variable "qemu_base" {
  type        = string
  description = "URL or path of a Debian 12 cloud image."
  default     = "https://cloud.debian.org/images/cloud/bookworm/latest/debian-12-genericcloud-amd64.qcow2"
}

variable "qemu_base_checksum" {
  type    = string
  default = "none"
}

variable "qemu_accelerator" {
  type        = string
  description = "Either kvm, or none for software emulation, which takes many times as long."
  default     = "kvm"
}

variable "qemu_seed" {
  type        = string
  description = "Folder with user-data and meta-data for cloud-init, which let qemu_ssh_key in; README.md makes one."
  default     = ""
}

variable "qemu_ssh_key" {
  type        = string
  description = "File with the private key that Packer logs in with."
  default     = ""
}

variable "qemu_serial" {
  type        = string
  description = "Where the machine's serial console goes, as QEMU's -serial takes it, for example file:console.log."
  default     = "null"
}

variable "qemu_output" {
  type        = string
  description = "Folder for the image; there must be none yet."
  default     = "output"
}

locals {
  base = "debian-12"
  name = "ringmaster-${var.engine}-${replace(var.engine_version, ".", "-")}-${replace(var.architecture, "_", "-")}-${var.build_id}"
  tags = {
    "ringmaster:engine"         = var.engine
    "ringmaster:engine-version" = var.engine_version
    "ringmaster:agent-version"  = var.agent_version
    "ringmaster:architecture"   = var.architecture
    "ringmaster:base"           = local.base
    "ringmaster:build-id"       = var.build_id
    "ringmaster:sbom"           = "/opt/ringmaster/sbom.spdx.json"
  }
  # GCP's labels: lower case, and no colons or dots.
  labels = {
    ringmaster-engine         = var.engine
    ringmaster-engine-version = replace(var.engine_version, ".", "-")
    ringmaster-agent-version  = replace(var.agent_version, ".", "-")
    ringmaster-architecture   = replace(var.architecture, "_", "-")
    ringmaster-base           = local.base
    ringmaster-build-id       = var.build_id
  }
  aws_types  = { x86_64 = "c6i.large", arm64 = "c6g.large" }
  gcp_types  = { x86_64 = "n2-standard-2", arm64 = "t2a-standard-2" }
  debian     = { x86_64 = "amd64", arm64 = "arm64" }
  gcp_images = { x86_64 = "debian-12", arm64 = "debian-12-arm64" }
}

source "amazon-ebs" "node" {
  region              = var.aws_region
  custom_endpoint_ec2 = var.aws_endpoint
  ami_name            = local.name
  instance_type       = local.aws_types[var.architecture]
  ssh_username        = "admin"
  ena_support         = true
  tags                = local.tags
  run_tags            = { Name = local.name }

  source_ami_filter {
    filters = {
      name                = "debian-12-${local.debian[var.architecture]}-*"
      architecture        = var.architecture
      root-device-type    = "ebs"
      virtualization-type = "hvm"
    }
    owners      = ["136693071363"] # Debian's own account, https://wiki.debian.org/Cloud/AmazonEC2Image
    most_recent = true
  }
}

source "googlecompute" "node" {
  project_id          = var.gcp_project
  zone                = var.gcp_zone
  image_name          = local.name
  image_family        = "ringmaster-${var.engine}-${replace(var.architecture, "_", "-")}"
  image_labels        = local.labels
  source_image_family = local.gcp_images[var.architecture]
  machine_type        = local.gcp_types[var.architecture]
  ssh_username        = "packer"
}

source "qemu" "node" {
  iso_url              = var.qemu_base
  iso_checksum         = var.qemu_base_checksum
  disk_image           = true
  disk_size            = "10G"
  format               = "qcow2"
  headless             = true
  boot_wait            = "1s"
  disk_cache           = "unsafe" # a bake that a power loss ends is begun again
  accelerator          = var.qemu_accelerator
  cpus                 = 2
  memory               = 2048
  vm_name              = "${local.name}.qcow2"
  output_directory     = var.qemu_output
  http_directory       = var.qemu_seed
  ssh_username         = "debian"
  ssh_private_key_file = var.qemu_ssh_key
  ssh_timeout          = "20m"
  shutdown_command     = "sudo shutdown -P now"
  # cloud-init looks there for whom to let in.
  qemuargs = [
    ["-smbios", "type=1,serial=ds=nocloud-net;s=http://{{ .HTTPIP }}:{{ .HTTPPort }}/"],
    ["-serial", var.qemu_serial],
  ]
}

build {
  sources = ["source.amazon-ebs.node", "source.googlecompute.node", "source.qemu.node"]

  # Made by an ordinary user, because those whom Packer logs in as may not write elsewhere.
  provisioner "shell" {
    inline = ["mkdir -p /tmp/ringmaster"]
  }

  provisioner "file" {
    sources     = ["${path.root}/bake", "${path.root}/systemd", "${path.root}/data", "${path.root}/cassandra"]
    destination = "/tmp/ringmaster/"
  }

  provisioner "file" {
    source      = var.agent_binary
    destination = "/tmp/ringmaster/ringmaster-agent"
    generated   = true
  }

  provisioner "shell" {
    execute_command = "sudo env {{ .Vars }} sh -eu '{{ .Path }}'"
    environment_vars = [
      "BAKE_FILES=/tmp/ringmaster",
      "ENGINE=${var.engine}",
      "ENGINE_VERSION=${var.engine_version}",
      "AGENT_VERSION=${var.agent_version}",
      "ARCHITECTURE=${var.architecture}",
      "BASE=${local.base}",
      "BUILD_ID=${var.build_id}",
    ]
    scripts = [
      "${path.root}/bake/10-packages.sh",
      "${path.root}/bake/20-kernel.sh",
      "${path.root}/bake/30-timers.sh",
      "${path.root}/bake/40-engine.sh",
      "${path.root}/bake/50-agent.sh",
      "${path.root}/bake/80-sbom.sh",
      "${path.root}/bake/90-clean.sh",
    ]
  }

  provisioner "file" {
    direction   = "download"
    source      = "/opt/ringmaster/sbom.spdx.json"
    destination = var.sbom_file
  }

  post-processor "manifest" {
    output = var.manifest_file
    custom_data = {
      engine         = var.engine
      engine_version = var.engine_version
      architecture   = var.architecture
      agent_version  = var.agent_version
      base           = local.base
      build_id       = var.build_id
      sbom           = local.tags["ringmaster:sbom"]
      gcp_project    = var.gcp_project
    }
  }
}
