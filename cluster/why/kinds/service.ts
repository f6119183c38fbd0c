/** Services without endpoints: the selector matches nothing, the pods are not ready, or lack the port. */
import { labelKey } from '../../../components/api/dialect.ts'
import type {
  Endpoint,
  Pod,
  Service,
  ServicePort,
} from '../../../components/api/generated/types.ts'
import {
  formatLabelSelector,
  labelSelectorOfMap,
  matchesLabels,
} from '../../../components/machinery/selectors/label-selector.ts'
import { eventsSeen, seen, warningsSeen } from '../evidence.ts'
import { defineExplainer, type Need } from '../explainer.ts'
import type { Evidence, Finding } from '../finding.ts'
import { countText, labelsText } from '../names.ts'
import { podsFindings } from '../owned-pods.ts'
import type { Related } from '../related.ts'

/** As many pods as are shown whose labels come nearest. */
const mostNear = 3

const selectorOf = ({ spec }: Service): Readonly<Record<string, string>> => spec?.selector ?? {}

function hasSelector(service: Service): boolean {
  return Object.keys(selectorOf(service)).length > 0
}

function selectedPods(service: Service, { pods }: Related): Pod[] {
  const selector = labelSelectorOfMap(selectorOf(service))
  return pods.filter(
    ({ metadata, status }) =>
      matchesLabels(selector, metadata.labels) &&
      status?.phase !== 'Succeeded' &&
      status?.phase !== 'Failed',
  )
}

function endpointsOf({ metadata }: Service, { endpointSlices, dialect }: Related): Endpoint[] {
  const label = labelKey(dialect, '', 'service-name')
  const own = endpointSlices.filter((slice) => slice.metadata.labels?.[label] === metadata.name)
  return own.flatMap(({ endpoints }) => endpoints ?? [])
}

const isReady = ({ conditions }: Endpoint): boolean => conditions?.ready !== false

/** Pods that have some of the selector's labels: where the mistake usually is. */
function nearPods(service: Service, { pods }: Related): Evidence[] {
  const wanted = Object.entries(selectorOf(service))
  const hits = ({ metadata }: Pod): number =>
    wanted.filter(
      ([key, value]) => metadata.labels?.[key] === value || key in (metadata.labels ?? {}),
    ).length
  return pods
    .filter((pod) => hits(pod) > 0)
    .toSorted((a, b) => hits(b) - hits(a))
    .slice(0, mostNear)
    .map((pod) =>
      seen({ ...pod, kind: 'Pod' }, `has the labels ${labelsText(pod.metadata.labels)}`),
    )
}

function matchesNothing(service: Service, related: Related): Finding {
  const text = labelsText(selectorOf(service))
  return {
    cause: 'SelectorMatchesNothing',
    message: `The selector ${text} matches none of ${countText(related.pods.length, 'pod')} in the namespace.`,
    evidence: [seen(service, `spec.selector is ${text}`), ...nearPods(service, related)],
    next: ['correct spec.selector, the labels of the pods, or create the pods'],
  }
}

/** Ports that the Service names and that some of the pods do not have. */
function missingPorts(service: Service, pods: readonly Pod[]): Finding[] {
  const lacks = (pod: Pod, { targetPort, protocol = 'TCP' }: ServicePort): boolean =>
    typeof targetPort === 'string' &&
    Number.isNaN(Number(targetPort)) &&
    !(pod.spec?.containers ?? []).some(({ ports = [] }) =>
      ports.some((port) => port.name === targetPort && (port.protocol ?? 'TCP') === protocol),
    )
  return (service.spec?.ports ?? []).flatMap((port) => {
    const without = pods.filter((pod) => lacks(pod, port))
    const [first] = without
    if (first === undefined) return []
    const named = (first.spec?.containers ?? []).flatMap(({ ports = [] }) => ports)
    const names = named.map(({ name, containerPort }) => `${name ?? '(no name)'} ${containerPort}`)
    return [
      {
        cause: 'NoSuchPort',
        message: `Port ${port.port} goes to the container port "${port.targetPort}", which ${without.length} of ${countText(pods.length, 'pod')} lack.`,
        evidence: [
          seen(service, `spec.ports has targetPort ${port.targetPort}`),
          seen({ ...first, kind: 'Pod' }, `has the ports ${names.join(', ') || '(none)'}`),
        ],
        next: ['name a port of the containers that way, or correct spec.ports[].targetPort'],
      },
    ]
  })
}

function endpointFindings(service: Service, related: Related): Finding[] {
  const endpoints = endpointsOf(service, related)
  if (endpoints.some(isReady)) return []
  if (!hasSelector(service)) {
    return [
      {
        cause: 'NoEndpoints',
        message: 'The Service has no selector, and no endpoints were created for it.',
        evidence: [
          seen(service, 'spec.selector is empty, and no EndpointSlice has a ready endpoint'),
        ],
        next: ['give it a selector, or create an EndpointSlice for it'],
      },
    ]
  }
  const pods = selectedPods(service, related)
  if (pods.length === 0) return [matchesNothing(service, related)]
  const trouble = podsFindings(pods, related)
  const reason = trouble[0] === undefined ? '' : ` ${trouble[0].message}`
  return [
    {
      cause: 'NoReadyPods',
      message: `None of ${countText(pods.length, 'pod')} that the Service selects is ready.${reason}`,
      evidence: [seen(service, `${countText(endpoints.length, 'endpoint')}, none ready`)],
      next: ['see the findings about the pods below'],
    },
    ...trouble,
  ]
}

function balancerFinding(service: Service, related: Related): Finding[] {
  const hasAddress = (service.status?.loadBalancer?.ingress ?? []).length > 0
  if (service.spec?.type !== 'LoadBalancer' || hasAddress) return []
  const ownClass = service.spec.loadBalancerClass
  return [
    {
      cause: 'NoLoadBalancer',
      message:
        ownClass === undefined
          ? 'The Service has no address of a load balancer yet.'
          : `The Service waits for a load balancer of the class ${ownClass}.`,
      evidence: [
        seen(service, 'status.loadBalancer is empty'),
        ...warningsSeen(related, service),
        ...eventsSeen(related, service, ['EnsuringLoadBalancer']),
      ],
      next: [
        ownClass === undefined
          ? 'check that the controller manager runs, and service-lb with it: skiff status'
          : `check that the controller of the class ${ownClass} runs`,
      ],
    },
  ]
}

function explainService(given: Service, related: Related): Finding[] {
  const service: Service = { ...given, kind: 'Service' }
  if (service.spec?.type === 'ExternalName') return []
  const ports = hasSelector(service) ? missingPorts(service, selectedPods(service, related)) : []
  return [...endpointFindings(service, related), ...ports, ...balancerFinding(service, related)]
}

export const service = defineExplainer<Service>({
  needs: (object, dialect): Need[] => {
    const { namespace = '', name = '' } = object.metadata
    const labelSelector = `${labelKey(dialect, '', 'service-name')}=${name}`
    const needs: Need[] = [{ of: 'endpointSlices', namespace, labelSelector }]
    needs.push({ of: 'events', namespace })
    if (!hasSelector(object)) return needs
    const own = formatLabelSelector(labelSelectorOfMap(selectorOf(object)))
    // Those that it selects, however many others there are; and the others, for labels that come near.
    needs.push({ of: 'pods', namespace, labelSelector: own }, { of: 'pods', namespace })
    needs.push({ of: 'nodes' })
    return needs
  },
  explain: explainService,
  state: (object, related) => {
    if (object.spec?.type === 'ExternalName') return `alias of ${object.spec.externalName}`
    const endpoints = endpointsOf(object, related)
    return countText(endpoints.filter(isReady).length, 'ready endpoint')
  },
})
