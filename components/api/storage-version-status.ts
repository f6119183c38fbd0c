/** What the status of a StorageVersion says of its servers (upstream: apiserver pkg/storageversion/updater.go; KEP-2339). Pure. */
import { timestamp } from '../component-base/clock.ts'
import type { KubeObject } from '../machinery/objects/object.ts'

export interface ServerStorageVersion {
  readonly apiServerID: string
  readonly encodingVersion: string
  readonly decodableVersions: readonly string[]
  readonly servedVersions?: readonly string[]
}

export interface StorageVersionCondition {
  readonly type: string
  readonly status: string
  readonly observedGeneration?: number
  readonly lastTransitionTime?: string
  readonly reason: string
  readonly message: string
}

export interface StorageVersionStatus {
  readonly storageVersions?: readonly ServerStorageVersion[]
  readonly commonEncodingVersion?: string
  readonly conditions?: readonly StorageVersionCondition[]
}

export interface StorageVersion extends KubeObject {
  readonly status?: StorageVersionStatus
}

const conditionType = 'AllEncodingVersionsEqual'

/** The version in which all servers write; undefined while they differ. */
export function commonVersion(servers: readonly ServerStorageVersion[]): string | undefined {
  const [first, ...others] = servers
  const isCommon = others.every((other) => other.encodingVersion === first?.encodingVersion)
  return isCommon ? first?.encodingVersion : undefined
}

/** The status with these servers. The condition's time moves with its status and with another common version. */
export function statusOf(
  { metadata, status = {} }: StorageVersion,
  servers: readonly ServerStorageVersion[],
  nowMs: number,
): StorageVersionStatus {
  const common = commonVersion(servers)
  const { conditions = [], commonEncodingVersion: before } = status
  const old = conditions.find(({ type }) => type === conditionType)
  const isSet = common !== undefined
  const isOther = isSet && before !== undefined && before !== common
  const now = isSet ? 'True' : 'False'
  const isKept = old?.status === now && !isOther && old.lastTransitionTime !== undefined
  const { generation } = metadata
  const condition: StorageVersionCondition = {
    type: conditionType,
    status: now,
    ...(generation === undefined ? {} : { observedGeneration: generation }),
    lastTransitionTime: isKept ? (old.lastTransitionTime ?? '') : timestamp(nowMs),
    reason: isSet ? 'CommonEncodingVersionSet' : 'CommonEncodingVersionUnset',
    message: isSet ? 'Common encoding version set' : 'Common encoding version unset',
  }
  return {
    storageVersions: servers,
    ...(isSet ? { commonEncodingVersion: common } : {}),
    conditions: [...conditions.filter(({ type }) => type !== conditionType), condition],
  }
}
