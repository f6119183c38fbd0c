/** Which labels a node agent may set on its own Node (upstream: staging/src/k8s.io/kubelet/pkg/apis/well_known_labels.go). */
import type { Dialect } from '../../api/dialect.ts'

type Labels = Readonly<Record<string, string>> | undefined

/** Labels of the system's domains that agents set themselves, without the label domain. */
const agentLabels = [
  'hostname',
  'os',
  'arch',
  'beta:os',
  'beta:arch',
  'beta:instance-type',
  'node:instance-type',
  'topology:zone',
  'topology:region',
  'failure-domain.beta:zone',
  'failure-domain.beta:region',
] as const

function isWithin(host: string, domain: string): boolean {
  return host === domain || host.endsWith(`.${domain}`)
}

function hostOf(key: string): string {
  const slash = key.indexOf('/')
  return slash < 0 ? '' : key.slice(0, slash)
}

/** `beta:os` -> `beta.kubernetes.io/os`. */
function agentLabel(short: string, dialect: Dialect): string {
  const [subdomain, name] = short.includes(':') ? short.split(':') : ['', short]
  const host = subdomain === '' ? dialect.labelDomain : `${subdomain}.${dialect.labelDomain}`
  return `${host}/${name ?? ''}`
}

function mayChange(key: string, dialect: Dialect): boolean {
  const host = hostOf(key)
  if (isWithin(host, `node-restriction.${dialect.labelDomain}`)) return false
  if (!isWithin(host, dialect.labelDomain) && !isWithin(host, dialect.apiDomain)) return true
  return (
    isWithin(host, `kubelet.${dialect.labelDomain}`) ||
    isWithin(host, `node.${dialect.labelDomain}`) ||
    agentLabels.some((short) => agentLabel(short, dialect) === key)
  )
}

/** The keys that differ and that a node agent may not add, change or remove; sorted. */
export function forbiddenNodeLabels(labels: Labels, old: Labels, dialect: Dialect): string[] {
  const keys = new Set([...Object.keys(labels ?? {}), ...Object.keys(old ?? {})])
  return [...keys]
    .filter((key) => labels?.[key] !== old?.[key] && !mayChange(key, dialect))
    .toSorted()
}
