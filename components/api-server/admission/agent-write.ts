/** AgentWrite: a write of a node agent, and what NodeRestriction checks it against. */
import type { Dialect } from '../../api/dialect.ts'
import type { Resources } from '../../api/resources.ts'
import type { KubeObject } from '../../machinery/objects/object.ts'
import type { StatusError } from '../../machinery/objects/status-error.ts'
import { goQuote } from '../../machinery/values/go-syntax.ts'
import type { ObjectReader } from '../watch-cache/object-reader.ts'
import type { AdmissionRequest } from './admission.ts'
import { admissionForbidden } from './forbid.ts'

export interface AgentWrite {
  readonly nodeName: string
  /** The node as error messages name it. */
  readonly self: string
  readonly request: AdmissionRequest
  readonly cluster: Cluster
  /** The 403 that rejects the write. */
  readonly forbid: (why: string) => StatusError
}

/** What holds for every write. */
export interface Cluster {
  readonly reader: ObjectReader
  readonly dialect: Dialect
  readonly resources: Pick<Resources, 'pods' | 'nodes'>
}

/** Returns if the agent may make the write. Throws a StatusError otherwise. */
export type AdmitWrite = (write: AgentWrite) => void

export const noObject: KubeObject = { metadata: {} }

export function agentWrite(
  nodeName: string,
  { request, cluster }: Pick<AgentWrite, 'request' | 'cluster'>,
): AgentWrite {
  const forbid = (why: string): StatusError => admissionForbidden(request, why)
  return { nodeName, self: `node ${goQuote(nodeName)}`, request, cluster, forbid }
}

/** The object that the request names: in its path, or in its body. */
export function requestedName({ name, object }: AdmissionRequest): string {
  return name || object?.metadata.name || ''
}
