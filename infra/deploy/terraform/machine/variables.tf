variable "cloud" {
  description = "aws or gcp."
  type        = string
}

variable "services" {
  description = "What runs here, with the memory that each may take (docker's notation): api, enrol, worker, beat."
  type        = map(string)
}

variable "image" {
  description = "The control plane's image, with its registry, by digest or tag."
  type        = string
}

variable "environment" {
  description = "Variables of backend/config/environment.py. No secrets: those are files."
  type        = map(string)
}

variable "secrets" {
  description = "Where the machine finds each secret, by the name of the file that it is put into."
  type        = map(string)
}

variable "settings" {
  description = "What the cloud's own part of the script needs: upper case names."
  type        = map(string)
}

variable "files" {
  description = "Files without secrets that the processes read in /etc/ringmaster/files, by name."
  type        = map(string)
  default     = {}
}

variable "packages" {
  description = "Debian's packages that the cloud's own part of the script needs."
  type        = list(string)
}

variable "commands" {
  description = "What is run once before the services are started: lines of shell."
  type        = list(string)
  default     = []
}
