{{- define "ringmaster.name" -}}
{{ .Release.Name | trunc 40 | trimSuffix "-" }}
{{- end }}

{{- define "ringmaster.selector" -}}
app.kubernetes.io/name: ringmaster
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .part }}
{{- end }}

{{- define "ringmaster.labels" -}}
{{ include "ringmaster.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ .root.Chart.Name }}-{{ .root.Chart.Version }}
{{- end }}

{{- define "ringmaster.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}

{{/* What every container has: nobody special, a root that cannot be written. */}}
{{- define "ringmaster.container-security" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
runAsNonRoot: true
runAsUser: 10001
runAsGroup: 10001
capabilities: { drop: [ALL] }
seccompProfile: { type: RuntimeDefault }
{{- end }}

{{- define "ringmaster.environment" -}}
- { name: RINGMASTER_PUBLIC_URL, value: {{ .root.Values.publicUrl | quote }} }
- { name: RINGMASTER_ENROL_URL, value: {{ .root.Values.enrolUrl | quote }} }
- name: RINGMASTER_ALLOWED_HOSTS
  value: {{ append .root.Values.allowedHosts (printf "%s-api" (include "ringmaster.name" .root)) | join "," | quote }}
- { name: RINGMASTER_SECRET_KEY_FILE, value: /var/lib/ringmaster/secrets/django.key }
- { name: RINGMASTER_MASTER_KEY_FILE, value: /var/lib/ringmaster/secrets/master.key }
- { name: RINGMASTER_ALERTS_TOKEN_FILE, value: /var/lib/ringmaster/secrets/alerts.token }
{{- range $name := list "DATABASE_URL" "REDIS_URL" }}
- name: {{ $name }}
  valueFrom: { secretKeyRef: { name: {{ $.root.Values.existingSecret }}, key: {{ $name }} } }
{{- end }}
{{- if eq .part "api" }}
- name: RINGMASTER_METRICS_TOKEN
  valueFrom: { secretKeyRef: { name: {{ .root.Values.existingSecret }}, key: metrics.token } }
{{- end }}
{{- range $name, $value := .root.Values.environment }}
- { name: {{ $name }}, value: {{ $value | quote }} }
{{- end }}
{{- end }}

{{- define "ringmaster.mounts" -}}
- { name: secrets, mountPath: /var/lib/ringmaster/secrets, readOnly: true }
- { name: tmp, mountPath: /tmp }
{{- end }}

{{/* All of a pod but its containers. */}}
{{- define "ringmaster.pod" -}}
serviceAccountName: {{ include "ringmaster.name" .root }}
automountServiceAccountToken: false
enableServiceLinks: false
securityContext:
  runAsNonRoot: true
  runAsUser: 10001
  runAsGroup: 10001
  fsGroup: 10001
  seccompProfile: { type: RuntimeDefault }
{{- with .root.Values.imagePullSecrets }}
imagePullSecrets: {{ toYaml . | nindent 2 }}
{{- end }}
{{- with .root.Values.nodeSelector }}
nodeSelector: {{ toYaml . | nindent 2 }}
{{- end }}
{{- with .root.Values.tolerations }}
tolerations: {{ toYaml . | nindent 2 }}
{{- end }}
{{- if and .root.Values.topologySpread (has .part (list "api" "enrol" "worker")) }}
topologySpreadConstraints:
  - maxSkew: 1
    topologyKey: topology.kubernetes.io/zone
    whenUnsatisfiable: ScheduleAnyway
    labelSelector: { matchLabels: {{ include "ringmaster.selector" . | fromYaml | toJson }} }
{{- end }}
volumes:
  - name: secrets
    secret:
      secretName: {{ .root.Values.existingSecret }}
      defaultMode: 0440
      items:
        - { key: master.key, path: master.key }
        - { key: django.key, path: django.key }
        - { key: alerts.token, path: alerts.token }
  - name: tmp
    emptyDir: { sizeLimit: 64Mi }
{{- if eq .part "enrol" }}
  - name: certificate
    emptyDir: { medium: Memory, sizeLimit: 1Mi }
{{- end }}
{{- end }}
