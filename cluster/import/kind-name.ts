/** Kind names: `deployments.apps`, `leases.coordination`: what the tables of an import call a kind of upstream's API. */
import { dialects } from '../../components/api/dialect.ts'
import { qualifiedName, type Resource } from '../../components/machinery/objects/resource.ts'

/** What is imported comes from a cluster that speaks upstream's names. */
export const dialect = dialects.kubernetes

const domain = `.${dialect.apiDomain}`

/** The resource and its group, without the domain that upstream's groups have. */
export function kindName(resource: Pick<Resource, 'plural' | 'group'>): string {
  const name = qualifiedName(resource as Resource)
  return isOfUpstream(resource.group) && name.endsWith(domain)
    ? name.slice(0, -domain.length)
    : name
}

/** Whether upstream's own controllers know kinds of the group: it has no domain, or upstream's. */
export function isOfUpstream(group: string): boolean {
  return !group.includes('.') || group.endsWith(domain)
}

export const definitions = 'customresourcedefinitions.apiextensions'
