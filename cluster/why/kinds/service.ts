/** Services without endpoints: the selector matches nothing, the pods are not ready, or lack the port. */
import { labelKey } from '../../../components/api/dialect.ts'
import type { Endpoint, Pod, Service } from '../../../components/api/generated/types.ts'
import { targetPort } from '../../../components/api/target-port.ts'
import {
  formatLabelSelector,
  labelSelectorOfMap,
  matchesLabels,
} from '../../../components/machinery/selectors/label-selector.ts'
import { conditionOf, eventsSeen, seen } from '../evidence.ts'
import { defineExplainer, type Need } from '../explainer.ts'
import type { Evidence, Finding } from '../finding.ts'
import { countText, labelsText } from '../names.ts'
import { podsFindings } from '../owned-pods.ts'
import { isOver } from '../pod-phase.ts'
import type { Related } from '../related.ts'

/** As many pods as are shown whose labels come nearest. */
const mostNear = 3

const selectorOf = ({ spec }: Service): Readonly<Record<string, string>> => spec?.selector ?? {}

function hasSelector(service: Service): boolean {
  return Object.keys(selectorOf(service)).length > 0
}

function selectedPods(service: Service, { pods }: Related): Pod[] {
  const selector = labelSelectorOfMap(selectorOf(service))
  return pods.filter((pod) => matchesLabels(selector, pod.metadata.labels) && !isOver(pod))
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
    wanted.filter(([key]) => key in (metadata.labels ?? {})).length
  return pods
    .filter((pod) => hits(pod) > 0)
    .toSorted((a, b) => hits(b) - hits(a))
    .slice(0, mostNear)
    .map((pod) => seen(pod, `has the labels ${labelsText(pod.metadata.labels)}`))
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

function portsText({ spec }: Pod): string {
  const { containers = [], initContainers = [] } = spec ?? {}
  const ports = [...containers, ...initContainers].flatMap((container) => container.ports ?? [])
  const texts = ports.map(({ name, containerPort }) => `${name ?? '(no name)'} ${containerPort}`)
  return texts.join(', ') || '(none)'
}

/** Ports that the Service names and that some of the pods do not have. */
function missingPorts(service: Service, pods: readonly Pod[]): Finding[] {
  return (service.spec?.ports ?? []).flatMap((port) => {
    const without = pods.filter((pod) => targetPort(pod, port) === undefined)
    const [first] = without
    if (first === undefined) return []
    return [
      {
        cause: 'NoSuchPort',
        message: `Port ${port.port} goes to the container port "${port.targetPort}", which ${without.length} of ${countText(pods.length, 'pod')} lack.`,
        evidence: [
          seen(service, `spec.ports has targetPort ${port.targetPort}`),
          seen(first, `has the ports ${portsText(first)}`),
        ],
        next: ['name a port of the containers that way, or correct spec.ports[].targetPort'],
      },
    ]
  })
}

function noEndpoints(service: Service, message: string, next: string): Finding {
  const evidence = [seen(service, 'no EndpointSlice of the Service has a ready endpoint')]
  return { cause: 'NoEndpoints', message, evidence, next: [next] }
}

/** Some pods are ready, and no endpoint is. */
function unlistedFinding(service: Service, ready: number): Finding {
  return noEndpoints(
    service,
    `${countText(ready, 'pod')} that the Service selects ${ready === 1 ? 'is' : 'are'} ready, and no endpoint of it is: no controller has added them yet.`,
    'check that the controller manager runs: skiff status',
  )
}

function notReadyFindings(service: Service, pods: readonly Pod[], related: Related): Finding[] {
  const trouble = podsFindings(pods, related)
  const reason = trouble[0] === undefined ? '' : ` ${trouble[0].message}`
  const count = endpointsOf(service, related).length
  return [
    {
      cause: 'NoReadyPods',
      message: `None of ${countText(pods.length, 'pod')} that the Service selects is ready.${reason}`,
      evidence: [seen(service, `${countText(count, 'endpoint')}, none ready`)],
      next: ['see the findings about the pods below'],
    },
    ...trouble,
  ]
}

function endpointFindings(service: Service, related: Related): Finding[] {
  const { incomplete } = related
  if (endpointsOf(service, related).some(isReady)) return []
  if (!hasSelector(service)) {
    if (incomplete.has('endpointSlices')) return []
    const message = 'The Service has no selector, and no endpoints were created for it.'
    return [noEndpoints(service, message, 'give it a selector, or create an EndpointSlice for it')]
  }
  if (related.pods.length === 0 && incomplete.has('pods')) {
    if (incomplete.has('endpointSlices')) return []
    const message = 'No endpoint of the Service is ready; its pods could not be read.'
    const next = 'ask again as a user that may list the pods of the namespace'
    return [noEndpoints(service, message, next)]
  }
  const pods = selectedPods(service, related)
  if (pods.length === 0) return [matchesNothing(service, related)]
  const ready = pods.filter(
    (pod) => !pod.metadata.deletionTimestamp && conditionOf(pod, 'Ready')?.status === 'True',
  ).length
  if (ready === 0) return notReadyFindings(service, pods, related)
  return incomplete.has('endpointSlices') ? [] : [unlistedFinding(service, ready)]
}

function balancerFinding(service: Service, related: Related): Finding[] {
  const hasAddress = (service.status?.loadBalancer?.ingress ?? []).length > 0
  if (service.spec?.type !== 'LoadBalancer' || hasAddress) return []
  const ownClass = service.spec.loadBalancerClass
  const failures = eventsSeen(related, service, ['SyncLoadBalancerFailed'])
  const step =
    ownClass === undefined
      ? 'check that the controller manager runs, and service-lb with it: skiff status'
      : `check that the controller of the class ${ownClass} runs`
  return [
    {
      cause: 'NoLoadBalancer',
      message:
        ownClass === undefined
          ? 'The Service has no address of a load balancer yet.'
          : `The Service waits for a load balancer of the class ${ownClass}.`,
      evidence: [
        seen(service, 'status.loadBalancer is empty'),
        ...failures,
        ...eventsSeen(related, service, ['EnsuringLoadBalancer']),
      ],
      next: [failures.length > 0 ? 'correct what the event names; it is tried again' : step],
    },
  ]
}

function explainService(service: Service, related: Related): Finding[] {
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
    if (related.incomplete.has('endpointSlices')) return 'its endpoints could not be read'
    return countText(endpoints.filter(isReady).length, 'ready endpoint')
  },
})
