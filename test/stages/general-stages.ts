/**
 * What kwok's general stages of pods do, in words of our own: a pod is created, its init containers run and complete, it runs, completes if a Job
 * owns it, and goes when it is deleted; each takes one to five seconds, or what an annotation says.
 */
import { stage } from './stages.ts'

const alive = '- { key: .metadata.deletionTimestamp, operator: DoesNotExist }'

/** A stage of pods that writes their status. */
function status(
  name: string,
  when: readonly string[],
  lines: readonly string[],
  more = '',
): string {
  return stage(
    name,
    `resourceRef: { apiGroup: v1, kind: Pod }
selector:
  matchExpressions:
    ${[alive, ...when].join('\n    ')}
weight: 1
weightFrom: { expressionFrom: '.metadata.annotations["${name}/weight"]' }
delay:
  durationMilliseconds: 1000
  jitterDurationMilliseconds: 5000
  durationFrom: { expressionFrom: '.metadata.annotations["${name}/delay"]' }
  jitterDurationFrom: { expressionFrom: '.metadata.annotations["${name}/jitter-delay"]' }
next:
  ${more}
  statusTemplate: |
    {{ $now := Now | Quote }}
    ${lines.join('\n    ')}`,
  )
}

const phase = (value: string): string =>
  `- { key: .status.phase, operator: In, values: [${value}] }`
const condition = (type: string, operator: string): string =>
  `- { key: '.status.conditions.[] | select( .type == "${type}" ) | .status', operator: ${operator}, values: ['True'] }`

const containers = (field: string, state: string, isReady: boolean): readonly string[] => [
  `${field === 'initContainers' ? 'initContainerStatuses' : 'containerStatuses'}:`,
  `{{ range $index, $item := .spec.${field} }}`,
  '- name: {{ $item.name | Quote }}',
  '  image: {{ $item.image | Quote }}',
  "  imageID: ''",
  `  ready: ${isReady}`,
  '  restartCount: 0',
  `  state: ${state}`,
  '{{ end }}',
]
const ended =
  '{ terminated: { exitCode: 0, reason: Completed, startedAt: {{ $now }}, finishedAt: {{ $now }} } }'
const running = '{ running: { startedAt: {{ $now }} } }'
const waiting = '{ waiting: { reason: PodInitializing } }'

export const generalStages: readonly string[] = [
  status(
    'pod-create',
    ['- { key: .status.podIP, operator: DoesNotExist }'],
    [
      'phase: Pending',
      'conditions:',
      "- { type: Initialized, status: {{ if .spec.initContainers }}'False'{{ else }}'True'{{ end }}, lastTransitionTime: {{ $now }} }",
      "- { type: Ready, status: 'False', lastTransitionTime: {{ $now }} }",
      '{{ if .spec.initContainers }}',
      ...containers('initContainers', waiting, false),
      '{{ end }}',
      ...containers('containers', waiting, false),
      'hostIP: {{ NodeIPWith .spec.nodeName | Quote }}',
      'podIP: {{ PodIPWith .spec.nodeName ( or .spec.hostNetwork false ) ( or .metadata.uid "" ) ( or .metadata.name "" ) ( or .metadata.namespace "" ) | Quote }}',
    ],
    'event: { type: Normal, reason: Created, message: Created container }',
  ),
  status(
    'pod-init-running',
    [
      phase('Pending'),
      condition('Initialized', 'NotIn'),
      "- { key: '.status.initContainerStatuses.[].state.waiting.reason', operator: Exists }",
    ],
    containers('initContainers', running, false),
  ),
  status(
    'pod-init-completed',
    [
      phase('Pending'),
      "- { key: '.status.initContainerStatuses.[].state.running.startedAt', operator: Exists }",
    ],
    [
      'conditions:',
      "- { type: Initialized, status: 'True', lastTransitionTime: {{ $now }} }",
      ...containers('initContainers', ended, true),
    ],
  ),
  status(
    'pod-ready',
    [
      phase('Pending'),
      condition('Initialized', 'In'),
      "- { key: '.status.containerStatuses.[].state.running.startedAt', operator: DoesNotExist }",
    ],
    [
      'phase: Running',
      'startTime: {{ $now }}',
      'conditions:',
      "- { type: Ready, status: 'True', lastTransitionTime: {{ $now }} }",
      "- { type: ContainersReady, status: 'True', lastTransitionTime: {{ $now }} }",
      ...containers('containers', running, true),
    ],
  ),
  status(
    'pod-complete',
    [
      phase('Running'),
      condition('Ready', 'In'),
      "- { key: '.metadata.ownerReferences.[].kind', operator: In, values: [Job] }",
    ],
    ['phase: Succeeded', ...containers('containers', ended, false)],
  ),
  stage(
    'pod-remove-finalizer',
    `resourceRef: { apiGroup: v1, kind: Pod }
selector:
  matchExpressions:
    - { key: .metadata.deletionTimestamp, operator: Exists }
    - { key: '.metadata.finalizers.[]', operator: In, values: [example.com/stage] }
next:
  finalizers: { remove: [{ value: example.com/stage }] }
  event: { type: Normal, reason: Killing, message: Stopping container }`,
  ),
  stage(
    'pod-delete',
    `resourceRef: { apiGroup: v1, kind: Pod }
selector:
  matchExpressions:
    - { key: .metadata.deletionTimestamp, operator: Exists }
    - { key: .metadata.finalizers, operator: DoesNotExist }
delay:
  durationMilliseconds: 1000
  jitterDurationFrom: { expressionFrom: .metadata.deletionTimestamp }
next: { delete: true }`,
  ),
]

/** A fake node becomes Ready, and says so again every 20 seconds. */
const nodeConditions = `{{ $now := Now | Quote }}
      conditions:
      {{ range NodeConditions }}
      - { type: {{ .type }}, status: {{ Quote .status }}, reason: {{ .reason }}, lastHeartbeatTime: {{ $now }} }
      {{ end }}`
export const nodeStages: readonly string[] = [
  stage(
    'node-ready',
    `resourceRef: { apiGroup: v1, kind: Node }
selector:
  matchExpressions:
    - ${condition('Ready', 'NotIn').slice(2)}
next:
  statusTemplate: |
      ${nodeConditions}
      {{ range list "capacity" "allocatable" }}
      {{ . }}: { cpu: 4, memory: 8Gi, pods: 110 }
      {{ end }}
      {{ with NodeName }}
      addresses:
      - { type: InternalIP, address: {{ NodeIP | Quote }} }
      - { type: Hostname, address: {{ . | Quote }} }
      {{ end }}
      phase: Running`,
  ),
  stage(
    'node-heartbeat',
    `resourceRef: { apiGroup: v1, kind: Node }
selector:
  matchExpressions:
    - { key: .status.phase, operator: In, values: [Running] }
    - ${condition('Ready', 'In').slice(2)}
delay: { durationMilliseconds: 20000 }
next:
  statusTemplate: |
      ${nodeConditions}
immediateNextStage: true`,
  ),
]
