/** Columns of the networking and discovery groups. */
import { printLabelSelector } from '../../machinery/selectors/label-selector.ts'
import type { KubeObject } from '../../machinery/objects/object.ts'
import type { TablePrinter } from '../../machinery/objects/table-printer.ts'
import { loadBalancerAddresses } from './services.ts'
import { ageColumn, column, firstOf, length, nameColumn, tablePrinter } from './table-printer.ts'

const maxHosts = 3

function hostsOf(ingress: KubeObject): string {
  const rules: readonly { host?: string }[] = ingress['spec']?.rules ?? []
  const hosts: string[] = []
  for (const { host } of rules) {
    if (hosts.length === maxHosts) {
      // As upstream, counted in rules, whether or not they have a host.
      return `${hosts.join(',')} + ${rules.length - maxHosts} more...`
    }
    if (host) hosts.push(host)
  }
  return hosts.join(',') || '*'
}

function parametersOf(ingressClass: KubeObject): string {
  const parameters = ingressClass['spec']?.parameters
  if (parameters === undefined) return '<none>'
  const group = parameters.apiGroup === undefined ? '' : `.${parameters.apiGroup}`
  return `${parameters.kind}${group}/${parameters.name}`
}

function parentOf(address: KubeObject): string {
  const parent = address['spec']?.parentRef
  if (parent === undefined) return '<none>'
  const resource = parent.group ? `${parent.resource}.${parent.group}` : `${parent.resource}`
  const namespace = parent.namespace ? `/${parent.namespace}` : ''
  return `${resource.toLowerCase()}${namespace}/${parent.name}`
}

export const networkingPrinters: Readonly<Record<string, TablePrinter>> = {
  ingressclasses: tablePrinter(
    nameColumn,
    column(
      ['Controller', 'Who implements the class.'],
      (object) => object['spec']?.controller ?? '',
    ),
    column(['Parameters', 'Object with more settings of the class.'], parametersOf),
    ageColumn,
  ),
  ingresses: tablePrinter(
    nameColumn,
    column(
      ['Class', 'Ingress class that serves it.'],
      (ingress) => ingress['spec']?.ingressClassName ?? '<none>',
    ),
    column(['Hosts', 'Hosts it has rules for.'], hostsOf),
    column(['Address', 'Where it is reached.'], (ingress) =>
      loadBalancerAddresses(ingress).join(','),
    ),
    column(['Ports', 'Ports it listens on.'], (ingress) =>
      length(ingress['spec']?.tls) > 0 ? '80, 443' : '80',
    ),
    ageColumn,
  ),
  ipaddresses: tablePrinter(
    nameColumn,
    column(['ParentRef', 'Object the address belongs to.'], parentOf),
  ),
  networkpolicies: tablePrinter(
    nameColumn,
    column(['Pod-Selector', 'Pods it applies to.'], (object) =>
      printLabelSelector(object['spec']?.podSelector ?? {}),
    ),
    ageColumn,
  ),
  servicecidrs: tablePrinter(
    nameColumn,
    column(['CIDRs', 'Ranges that service addresses come from.'], (object) =>
      (object['spec']?.cidrs ?? []).join(','),
    ),
    ageColumn,
  ),
}

function slicePorts(slice: KubeObject): string {
  const ports: readonly { port?: number; name?: string }[] = slice['ports'] ?? []
  return firstOf(ports.map(({ port, name }) => String(port ?? name ?? '*')))
}

export const discoveryPrinters: Readonly<Record<string, TablePrinter>> = {
  endpointslices: tablePrinter(
    nameColumn,
    column(['AddressType', 'Kind of its addresses.'], (slice) => slice['addressType'] ?? ''),
    column(['Ports', 'Ports of every endpoint.'], slicePorts),
    column(['Endpoints', 'Addresses of the endpoints.'], (slice) =>
      firstOf(
        (slice['endpoints'] ?? []).flatMap(
          (endpoint: { addresses?: string[] }) => endpoint.addresses ?? [],
        ),
      ),
    ),
    ageColumn,
  ),
}
