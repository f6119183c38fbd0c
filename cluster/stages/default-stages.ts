/** The stages of nodes and pods where a user's files have none, in effect those of kwokctl: nodes become Ready, pods run, Jobs complete, deleted pods go. */
import type { StageFile } from './read-stages.ts'

const nodeReady = `apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata: { name: node-initialize }
spec:
  resourceRef: { apiGroup: v1, kind: Node }
  selector:
    matchExpressions:
      - jq:
          key: '.status.conditions[]? | select(.type == "Ready") | .status'
          operator: NotIn
          values: ['True']
  steps:
    - patch:
        subresource: status
        root: status
        template: |
          {{ $now := Now }}
          {{ $version := printf "kwok-%s" Version }}
          {{ $info := or .status.nodeInfo dict }}
          phase: Running
          conditions:
          {{ range NodeConditions }}
            - type: {{ .type }}
              status: {{ Quote .status }}
              reason: {{ .reason }}
              message: {{ Quote .message }}
              lastHeartbeatTime: {{ Quote $now }}
              lastTransitionTime: {{ Quote $now }}
          {{ end }}
          {{ if not .status.addresses }}
          addresses:
            - { type: InternalIP, address: {{ Quote NodeIP }} }
            - { type: Hostname, address: {{ Quote NodeName }} }
          {{ end }}
          {{ range $name := list "capacity" "allocatable" }}
          {{ $name }}: {{ toJson (or (get (or $.status dict) $name) (dict "cpu" "1k" "memory" "1Ti" "pods" "1M")) }}
          {{ end }}
          nodeInfo:
            architecture: {{ default "amd64" $info.architecture }}
            operatingSystem: {{ default "linux" $info.operatingSystem }}
          {{ range list "kubeletVersion" "kubeProxyVersion" "kernelVersion" "containerRuntimeVersion" }}
            {{ . }}: {{ default $version (get $info .) }}
          {{ end }}
          {{ range list "bootID" "machineID" "systemUUID" "osImage" }}
            {{ . }}: {{ Quote (get $info .) }}
          {{ end }}
---
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata: { name: node-heartbeat-with-lease }
spec:
  resourceRef: { apiGroup: v1, kind: Node }
  selector:
    matchExpressions:
      - jq: { key: .status.phase, operator: In, values: [Running] }
      - jq:
          key: '.status.conditions[]? | select(.type == "Ready") | .status'
          operator: In
          values: ['True']
  delay: { durationMilliseconds: 600000, jitterDurationMilliseconds: 610000 }
  steps:
    - patch:
        subresource: status
        root: status
        template: |
          {{ $now := Now }}
          conditions:
          {{ range NodeConditions }}
            - { type: {{ .type }}, lastHeartbeatTime: {{ Quote $now }} }
          {{ end }}
`

const podReady = `apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata: { name: pod-ready }
spec:
  resourceRef: { apiGroup: v1, kind: Pod }
  selector:
    matchExpressions:
      - jq: { key: .metadata.deletionTimestamp, operator: DoesNotExist }
      - jq: { key: .status.phase, operator: In, values: [Pending] }
      - jq:
          key: '.status.conditions[]? | select(.type == "Ready") | .status'
          operator: NotIn
          values: ['True']
  steps:
    - patch:
        subresource: status
        root: status
        template: |
          {{ $now := Now | Quote }}
          phase: Running
          startTime: {{ $now }}
          hostIP: {{ NodeIPWith .spec.nodeName | Quote }}
          hostIPs:
          {{ range NodeIPsWith .spec.nodeName }}
            - ip: {{ Quote . }}
          {{ end }}
          {{ $addresses := PodIPsWith .spec.nodeName (or .spec.hostNetwork false) }}
          podIP: {{ index $addresses 0 | Quote }}
          podIPs:
          {{ range $addresses }}
            - ip: {{ Quote . }}
          {{ end }}
          conditions:
          {{ range list "Initialized" "ContainersReady" "Ready" }}
            - { type: {{ . }}, status: 'True', lastTransitionTime: {{ $now }} }
          {{ end }}
          {{ range .spec.readinessGates }}
            - { type: {{ Quote .conditionType }}, status: 'True', lastTransitionTime: {{ $now }} }
          {{ end }}
          {{ with .spec.initContainers }}
          initContainerStatuses:
          {{ range . }}
            - name: {{ Quote .name }}
              image: {{ Quote .image }}
              imageID: ''
              ready: true
              restartCount: 0
              state:
              {{ if eq .restartPolicy "Always" }}
                running: { startedAt: {{ $now }} }
              {{ else }}
                terminated: { exitCode: 0, reason: Completed, startedAt: {{ $now }}, finishedAt: {{ $now }} }
              {{ end }}
          {{ end }}
          {{ end }}
          containerStatuses:
          {{ range .spec.containers }}
            - name: {{ Quote .name }}
              image: {{ Quote .image }}
              imageID: ''
              ready: true
              started: true
              restartCount: 0
              state: { running: { startedAt: {{ $now }} } }
          {{ end }}
---
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata: { name: pod-complete }
spec:
  resourceRef: { apiGroup: v1, kind: Pod }
  selector:
    matchExpressions:
      - jq: { key: .metadata.deletionTimestamp, operator: DoesNotExist }
      - jq: { key: .status.phase, operator: In, values: [Running] }
      - jq: { key: '.metadata.ownerReferences[]?.kind', operator: In, values: [Job] }
  steps:
    - patch:
        subresource: status
        root: status
        template: |
          {{ $now := Now | Quote }}
          phase: Succeeded
          conditions:
            - { type: Ready, status: 'False', reason: PodCompleted, lastTransitionTime: {{ $now }} }
            - { type: ContainersReady, status: 'False', reason: PodCompleted, lastTransitionTime: {{ $now }} }
          containerStatuses:
          {{ range .spec.containers }}
            - name: {{ Quote .name }}
              image: {{ Quote .image }}
              imageID: ''
              ready: false
              started: false
              restartCount: 0
              state:
                terminated: { exitCode: 0, reason: Completed, startedAt: {{ $now }}, finishedAt: {{ $now }} }
          {{ end }}
---
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata: { name: pod-delete }
spec:
  resourceRef: { apiGroup: v1, kind: Pod }
  selector:
    matchExpressions:
      - jq: { key: .metadata.deletionTimestamp, operator: Exists }
  steps:
    - delete: true
`

export const defaultStages: readonly StageFile[] = [
  { file: 'default stages of nodes', text: nodeReady },
  { file: 'default stages of pods', text: podReady },
]
