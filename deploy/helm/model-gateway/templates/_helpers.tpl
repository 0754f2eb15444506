{{- define "gateway.name" -}}
{{- $name := printf "%s-%s" .Release.Name .Chart.Name -}}
{{- if contains .Chart.Name .Release.Name }}{{ $name = .Release.Name }}{{ end -}}
{{- $name | replace "." "-" | trunc 52 | trimSuffix "-" -}}
{{- end }}

{{- define "gateway.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "gateway.labels" -}}
{{ include "gateway.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}

{{- define "gateway.graceSecs" -}}
{{- $server := .Values.config.server | default dict -}}
{{- if hasKey $server "shutdown_grace_secs" }}{{ $server.shutdown_grace_secs | int }}{{ else }}30{{ end }}
{{- end }}

{{/* Shared by the serving pods and the migration pod. */}}
{{- define "gateway.podSecurity" -}}
runAsNonRoot: true
{{- with .Values.podUser }}
{{ toYaml . }}
{{- end }}
fsGroupChangePolicy: OnRootMismatch
seccompProfile:
  type: RuntimeDefault
{{- end }}

{{- define "gateway.image" -}}
image: {{ printf "%s:%s" .Values.image.repository (.Values.image.tag | default .Chart.AppVersion) | quote }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities:
    drop: [ALL]
envFrom:
  - secretRef:
      name: {{ .Values.secretName }}
{{- end }}

{{- define "gateway.volumes" -}}
- name: config
  configMap:
    name: {{ .configMap }}
- name: tmp
  emptyDir:
    sizeLimit: 64Mi
{{- end }}

{{/* Egress of the serving pods and the migration pod. */}}
{{- define "gateway.egress" -}}
- ports:
    - { port: 53, protocol: UDP }
    - { port: 53, protocol: TCP }
# Where pods get cloud credentials: metadata servers (80), workload identity of GKE (988), pod identity of EKS (80).
- to:
    - ipBlock: { cidr: 169.254.0.0/16 }
    # The same for EKS in IPv6-only clusters: fd00:ec2::23 and fd00:ec2::254.
    - ipBlock: { cidr: "fd00:ec2::/64" }
  ports:
    - { port: 80, protocol: TCP }
    - { port: 988, protocol: TCP }
{{- with .Values.networkPolicy.egressPorts }}
- ports:
    {{- range . }}
    - { port: {{ . }}, protocol: TCP }
    {{- end }}
{{- end }}
{{- end }}

{{- define "gateway.mounts" -}}
- name: config
  mountPath: /etc/model-gateway
  readOnly: true
- name: tmp
  mountPath: /tmp
{{- end }}
