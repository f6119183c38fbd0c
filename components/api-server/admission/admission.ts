/** Admission: plugins that may change and then may refuse a write, after authorization and before it is stored. */
import type { KubeObject } from '../../machinery/objects/object.ts'
import type { Resource } from '../../machinery/objects/resource.ts'
import type { RequestContext, UserInfo } from '../request/request.ts'
import type { DeleteRequest } from '../request/write.ts'

export interface AdmissionRequest {
  readonly operation: 'CREATE' | 'UPDATE' | 'DELETE' | 'CONNECT'
  readonly resource: Resource
  readonly subresource: string
  readonly namespace: string
  /** '' on a create by generateName. */
  readonly name: string
  /** The object as it would be stored; a draft that `mutate` may change. Absent on DELETE. */
  readonly object: KubeObject | undefined
  /** What is stored now; on UPDATE and DELETE. Frozen. */
  readonly old: KubeObject | undefined
  readonly user: UserInfo
  readonly dryRun: boolean
  /** Texts for `Warning` headers may be pushed here. */
  readonly warnings: string[]
  /** The request that this is a part of: its options, and where audit annotations go. Absent for the server's own writes. */
  readonly context?: Pick<RequestContext, 'info' | 'annotations'> | undefined
  /** What a DELETE asks for. */
  readonly deletion?: Pick<DeleteRequest, 'gracePeriodSeconds' | 'preconditions' | 'propagation'>
  /** A create by generateName: the name was made up here. */
  readonly isNameGenerated?: boolean
  /** Fills in the defaults of a draft that takes the place of `object`; present when that is the whole object. */
  readonly applyDefaults?: (draft: KubeObject) => void
  /** How webhooks went about it; kept by the plugin that asks them. */
  rounds?: Rounds
}

/** What webhooks did to the object; when they changed it, all plugins that change it run once more. */
export interface Rounds {
  /** 0, and 1 when all run again. */
  round: number
  isAnotherAsked: boolean
  isRewritten: boolean
  /** Those that were asked and want to be asked again when something changes. */
  readonly asked: Set<string>
  /** Those of them that are due. */
  readonly again: Set<string>
  /** The object after the first round. */
  last: KubeObject | undefined
}

export interface AdmissionPlugin {
  /** Upstream's plugin name, as in --enable-admission-plugins. */
  readonly name: string
  /** Changes the draft. Throws a StatusError to refuse. */
  mutate?(request: AdmissionRequest): void | Promise<void>
  /** Only looks. Throws a StatusError to refuse. */
  validate?(request: AdmissionRequest): void | Promise<void>
}
