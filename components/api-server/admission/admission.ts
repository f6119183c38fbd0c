/** Admission: plugins that may change and then may refuse a write, after authorization and before it is stored. */
import type { KubeObject } from '../../machinery/object.ts'
import type { Resource } from '../../machinery/resource.ts'
import type { UserInfo } from '../request.ts'

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
}

export interface AdmissionPlugin {
  /** Upstream's plugin name, as in --enable-admission-plugins. */
  readonly name: string
  /** Changes the draft. Throws a StatusError to refuse. */
  mutate?(request: AdmissionRequest): void | Promise<void>
  /** Only looks. Throws a StatusError to refuse. */
  validate?(request: AdmissionRequest): void | Promise<void>
}
