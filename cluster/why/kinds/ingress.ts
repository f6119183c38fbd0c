/** Ingresses that no controller serves, or whose Services do not exist. */
import { labelKey } from '../../../components/api/dialect.ts'
import { newestMarked } from '../../../components/api/default-classes.ts'
import type { Ingress } from '../../../components/api/generated/types.ts'
import { eventsSeen, seen, warningsSeen } from '../evidence.ts'
import { defineExplainer, eventsNeed } from '../explainer.ts'
import type { Finding } from '../finding.ts'
import { listText } from '../names.ts'
import type { Related } from '../related.ts'

function classFinding(ingress: Ingress, related: Related): Finding | undefined {
  const { ingressClasses, incomplete, dialect } = related
  // Old clients name the class by an annotation, which may name a controller without an IngressClass.
  const older = ingress.metadata.annotations?.[labelKey(dialect, '', 'ingress.class')]
  const className = ingress.spec?.ingressClassName ?? older
  const marked = newestMarked(ingressClasses, [
    labelKey(dialect, 'ingressclass', 'is-default-class'),
  ])
  const found =
    className === undefined
      ? marked
      : ingressClasses.find(({ metadata }) => metadata.name === className)
  const hasAddress = (ingress.status?.loadBalancer?.ingress ?? []).length > 0
  if (hasAddress || (found === undefined && incomplete.has('ingressClasses'))) return undefined
  const names = ingressClasses.map(({ metadata }) => metadata.name ?? '')
  if (found === undefined) {
    return {
      cause: className === undefined ? 'NoIngressClass' : 'MissingIngressClass',
      message:
        className === undefined
          ? 'The Ingress names no class, and no IngressClass is the default.'
          : `The IngressClass ${className} does not exist.`,
      evidence: [
        seen(
          ingress,
          `its class is ${className ?? 'empty'}; there are: ${listText(names, 10) || 'none'}`,
        ),
        ...warningsSeen(related, ingress),
      ],
      next: ['install an ingress controller with its IngressClass, and name the class'],
    }
  }
  const controller = found.spec?.controller ?? '(none)'
  return {
    cause: 'NoIngressController',
    message: `The controller ${controller} of the class ${found.metadata.name} has given the Ingress no address; no part of this cluster is an ingress controller.`,
    evidence: [
      seen(ingress, 'status.loadBalancer is empty'),
      seen(found, `names the controller ${controller}`),
      ...eventsSeen(related, ingress),
    ],
    next: [`check that the controller ${controller} runs`],
  }
}

function serviceFindings(ingress: Ingress, related: Related): Finding[] {
  if (related.incomplete.has('services')) return []
  const { defaultBackend, rules = [] } = ingress.spec ?? {}
  const backends = [
    defaultBackend,
    ...rules.flatMap(({ http }) => (http?.paths ?? []).map(({ backend }) => backend)),
  ]
  const known = new Set(related.services.map(({ metadata }) => metadata.name))
  const names = new Set(backends.flatMap((backend) => backend?.service?.name ?? []))
  return [...names]
    .filter((name) => !known.has(name))
    .map((name) => ({
      cause: 'MissingService',
      message: `The Ingress sends requests to the Service ${name}, which does not exist.`,
      evidence: [seen(ingress, `a backend names the Service ${name}`)],
      next: [
        `create the Service ${name} in namespace ${ingress.metadata.namespace}, or correct the backend`,
      ],
    }))
}

function explainIngress(ingress: Ingress, related: Related): Finding[] {
  const byClass = classFinding(ingress, related)
  return [...(byClass === undefined ? [] : [byClass]), ...serviceFindings(ingress, related)]
}

export const ingress = defineExplainer<Ingress>({
  needs: (object) => [
    eventsNeed(object),
    { of: 'ingressClasses' },
    { of: 'services', namespace: object.metadata.namespace ?? '' },
  ],
  explain: explainIngress,
  state: ({ status }) => {
    const addresses = (status?.loadBalancer?.ingress ?? []).map(
      ({ ip, hostname }) => ip ?? hostname ?? '',
    )
    return addresses.length === 0 ? 'no address' : `served at ${addresses.join(', ')}`
  },
})
