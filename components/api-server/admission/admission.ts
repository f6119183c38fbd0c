/** Admission: plugins that mutate and then validate a write, after authorization and before it is stored. */
import type { KubeObject } from '../../machinery/objects/object.ts'
import type { Resource } from '../../machinery/objects/resource.ts'
import type { RequestContext, UserInfo } from '../request/request.ts'
import type { DeleteRequest } from '../request/write.ts'
import type { Rounds } from './reinvocation.ts'

export interface AdmissionRequest {
  readonly operation: 'CREATE' | 'UPDATE' | 'DELETE' | 'CONNECT'
  readonly resource: Resource
  readonly subresource: string
  readonly namespace: string
  /** '' on a create by generateName. */
  readonly name: string
  /** The object as it would be stored; a draft that `mutate` may change. Absent on DELETE. */
  readonly object: KubeObject | undefined
  /** The stored object, on UPDATE and DELETE. Frozen. */
  readonly old: KubeObject | undefined
  readonly user: UserInfo
  readonly dryRun: boolean
  /** Texts for `Warning` headers may be pushed here. */
  readonly warnings: string[]
  /** The request that this is a part of: its options, and where audit annotations go. Absent for the server's own writes. */
  readonly context?: Pick<RequestContext, 'info' | 'annotations'> | undefined
  /** The options of a DELETE. */
  readonly deletion?: Pick<DeleteRequest, 'gracePeriodSeconds' | 'preconditions' | 'propagation'>
  /** Whether the server generated the name from generateName. */
  readonly isNameGenerated?: boolean
  /** Sets the defaults of a draft that replaces `object`; present if that is the whole object. */
  readonly applyDefaults?: (draft: KubeObject) => void
  /** Called once the write is stored or has failed. A plugin that holds something for the request sets it while it validates. */
  release?: () => void
  /** What mutating webhooks and policies have done so far (reinvocation.ts). */
  rounds?: Rounds
}

export interface AdmissionPlugin {
  /** Upstream's plugin name, as in --enable-admission-plugins. */
  readonly name: string
  /** Changes the draft. Throws a StatusError to reject. */
  mutate?(request: AdmissionRequest): void | Promise<void>
  /** Validates. Throws a StatusError to reject. */
  validate?(request: AdmissionRequest): void | Promise<void>
}
