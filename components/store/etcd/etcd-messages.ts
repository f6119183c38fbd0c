/** The messages of etcd's API that the store uses (etcd: etcdserver/etcdserverpb/rpc.proto, mvcc/mvccpb/kv.proto). */
import {
  protobufFields,
  protobufMessage,
  protobufPart,
  type ProtobufPart,
} from '../../component-base/grpc/protobuf-fields.ts'

export const etcdMethod = {
  range: '/etcdserverpb.KV/Range',
  txn: '/etcdserverpb.KV/Txn',
  compact: '/etcdserverpb.KV/Compact',
  watch: '/etcdserverpb.Watch/Watch',
  status: '/etcdserverpb.Maintenance/Status',
  alarm: '/etcdserverpb.Maintenance/Alarm',
  leaseGrant: '/etcdserverpb.Lease/LeaseGrant',
  authenticate: '/etcdserverpb.Auth/Authenticate',
} as const

export interface EtcdKeyValue {
  readonly key: Buffer
  readonly createRevision: number
  readonly modRevision: number
  /** How often it was written in this life. */
  readonly version: number
  /** Of its own: it keeps no larger message in memory. */
  readonly value: Buffer
}

/** Keys from `key` up to `end`; without `end` that one key. */
export interface KeyRange {
  readonly key: Buffer
  readonly end?: Buffer
}

export interface RangeRequest extends KeyRange {
  /** 0 means all. */
  readonly limit?: number
  /** 0 means the newest. */
  readonly revision?: number
  readonly isCountOnly?: boolean
}

export interface RangeResponse {
  readonly revision: number
  readonly kvs: readonly EtcdKeyValue[]
  readonly more: boolean
  readonly count: number
}

function number(value: number | Buffer): number {
  if (typeof value !== 'number') throw new Error('etcd sent bytes where an integer belongs')
  return value
}

function bytes(value: number | Buffer): Buffer {
  if (typeof value === 'number') throw new Error('etcd sent an integer where bytes belong')
  return value
}

/** `ResponseHeader.revision`. */
function headerRevision(message: Buffer): number {
  for (const field of protobufFields(message)) if (field.number === 3) return number(field.value)
  return 0
}

const none = Buffer.alloc(0)

function readKeyValue(message: Buffer): EtcdKeyValue {
  const kv = { key: none, createRevision: 0, modRevision: 0, version: 0, value: none }
  for (const field of protobufFields(message)) {
    if (field.number === 1) kv.key = Buffer.from(bytes(field.value))
    else if (field.number === 2) kv.createRevision = number(field.value)
    else if (field.number === 3) kv.modRevision = number(field.value)
    else if (field.number === 4) kv.version = number(field.value)
    else if (field.number === 5) kv.value = Buffer.from(bytes(field.value))
  }
  return kv
}

function rangePart(request: RangeRequest): ProtobufPart {
  const { key, end, limit, revision, isCountOnly } = request
  return protobufPart([1, key], [2, end], [3, limit], [4, revision], [9, isCountOnly])
}

export function writeRange(request: RangeRequest): Buffer {
  return protobufMessage(...rangePart(request).fields)
}

export function readRange(message: Buffer): RangeResponse {
  const kvs: EtcdKeyValue[] = []
  const response = { revision: 0, kvs, more: false, count: 0 }
  for (const field of protobufFields(message)) {
    if (field.number === 1) response.revision = headerRevision(bytes(field.value))
    else if (field.number === 2) kvs.push(readKeyValue(bytes(field.value)))
    else if (field.number === 3) response.more = number(field.value) !== 0
    else if (field.number === 4) response.count = number(field.value)
  }
  return response
}

/** One operation of a txn: a put, a deletion, or a read of a key. */
export type TxnOperation =
  | {
      readonly type: 'put'
      readonly key: Buffer
      readonly value: Buffer
      /** The key goes when this lease ends. */
      readonly lease?: number | undefined
    }
  | ({ readonly type: 'delete' } & KeyRange)
  | { readonly type: 'get'; readonly key: Buffer }

/** A key, and the revision that must have written it last, or how often it must have been written; 0: it must not exist. */
export type Compare = { readonly key: Buffer } & (
  { readonly modRevision: number } | { readonly version: number }
)

export interface TxnRequest {
  readonly compares: readonly Compare[]
  readonly success: readonly TxnOperation[]
  readonly failure: readonly TxnOperation[]
}

export interface TxnResponse {
  readonly revision: number
  readonly isSuccess: boolean
  /** What its reads found. */
  readonly kvs: readonly EtcdKeyValue[]
  /** How many keys it deleted. */
  readonly deleted: number
}

const equal = 0
const versionTarget = 0
const modTarget = 2

function comparePart(compare: Compare): ProtobufPart {
  const { key } = compare
  if ('version' in compare) {
    return protobufPart([1, equal], [2, versionTarget], [3, key], [4, compare.version])
  }
  return protobufPart([1, equal], [2, modTarget], [3, key], [6, compare.modRevision])
}

function operationPart(operation: TxnOperation): ProtobufPart {
  if (operation.type === 'get') return protobufPart([1, rangePart(operation)])
  if (operation.type === 'put') {
    const { key, value, lease } = operation
    return protobufPart([2, protobufPart([1, key], [2, value], [3, lease])])
  }
  return protobufPart([3, protobufPart([1, operation.key], [2, operation.end])])
}

export function writeTxn({ compares, success, failure }: TxnRequest): Buffer {
  return protobufMessage(
    ...compares.map((one): [number, ProtobufPart] => [1, comparePart(one)]),
    ...success.map((one): [number, ProtobufPart] => [2, operationPart(one)]),
    ...failure.map((one): [number, ProtobufPart] => [3, operationPart(one)]),
  )
}

export function readTxn(message: Buffer): TxnResponse {
  const kvs: EtcdKeyValue[] = []
  const response = { revision: 0, isSuccess: false, kvs, deleted: 0 }
  for (const field of protobufFields(message)) {
    if (field.number === 1) response.revision = headerRevision(bytes(field.value))
    else if (field.number === 2) response.isSuccess = number(field.value) !== 0
    else if (field.number === 3) {
      for (const one of protobufFields(bytes(field.value))) {
        if (one.number === 1) kvs.push(...readRange(bytes(one.value)).kvs)
        else if (one.number === 3) response.deleted += readDeleted(bytes(one.value))
      }
    }
  }
  return response
}

function readDeleted(message: Buffer): number {
  for (const field of protobufFields(message)) if (field.number === 2) return number(field.value)
  return 0
}

/** `physical`: answered when the space is free. */
export function writeCompact(revision: number): Buffer {
  return protobufMessage([1, revision], [2, true])
}

export interface WatchCreate extends KeyRange {
  readonly watchId: number
  readonly startRevision: number
}

export function writeWatchCreate({ key, end, watchId, startRevision }: WatchCreate): Buffer {
  const create = protobufMessage(
    [1, key],
    [2, end],
    [3, startRevision],
    [4, true], // progress_notify
    [6, true], // prev_kv
    [7, watchId],
    [8, true], // fragment
  )
  return protobufMessage([1, create])
}

export function writeWatchCancel(watchId: number): Buffer {
  return protobufMessage([2, protobufMessage([1, watchId])])
}

export interface EtcdEvent {
  readonly isDelete: boolean
  readonly kv: EtcdKeyValue
  /** What the key held before; absent for a new key, and when that has been compacted away. */
  readonly previous?: EtcdKeyValue
}

export interface WatchResponse {
  readonly revision: number
  readonly watchId: number
  readonly isCreated: boolean
  readonly isCanceled: boolean
  /** The watch began before this revision, up to which history is gone; 0 otherwise. */
  readonly compactRevision: number
  readonly cancelReason: string
  /** More events of the same response follow. */
  readonly isFragment: boolean
  readonly events: readonly EtcdEvent[]
}

function readEvent(message: Buffer): EtcdEvent {
  let isDelete = false
  let kv: EtcdKeyValue | undefined
  let previous: EtcdKeyValue | undefined
  for (const field of protobufFields(message)) {
    if (field.number === 1) isDelete = number(field.value) === 1
    else if (field.number === 2) kv = readKeyValue(bytes(field.value))
    else if (field.number === 3) previous = readKeyValue(bytes(field.value))
  }
  if (kv === undefined) throw new Error('etcd sent an event without a key')
  return { isDelete, kv, ...(previous === undefined ? {} : { previous }) }
}

export function readWatch(message: Buffer): WatchResponse {
  const events: EtcdEvent[] = []
  const seen = { revision: 0, watchId: 0, compactRevision: 0, cancelReason: '', events }
  const flags = { isCreated: false, isCanceled: false, isFragment: false }
  for (const { number: at, value } of protobufFields(message)) {
    if (at === 1) seen.revision = headerRevision(bytes(value))
    else if (at === 2) seen.watchId = number(value)
    else if (at === 3) flags.isCreated = number(value) !== 0
    else if (at === 4) flags.isCanceled = number(value) !== 0
    else if (at === 5) seen.compactRevision = number(value)
    else if (at === 6) seen.cancelReason = bytes(value).toString()
    else if (at === 7) flags.isFragment = number(value) !== 0
    else if (at === 11) events.push(readEvent(bytes(value)))
  }
  return { ...seen, ...flags }
}

export interface MemberStatus {
  readonly version: string
  readonly hasLeader: boolean
  /** What the member's file takes. */
  readonly sizeBytes: number
}

export function readStatus(message: Buffer): MemberStatus {
  const status = { version: '', hasLeader: false, sizeBytes: 0 }
  for (const field of protobufFields(message)) {
    if (field.number === 2) status.version = bytes(field.value).toString()
    else if (field.number === 3) status.sizeBytes = number(field.value)
    else if (field.number === 4) status.hasLeader = number(field.value) !== 0
  }
  return status
}

/** Alarms that are on, of all members. */
export interface Alarms {
  readonly isOutOfSpace: boolean
  readonly isCorrupt: boolean
}

/** Reads no member's alarms in particular (`AlarmRequest` with action GET). */
export const alarmQuery = Buffer.alloc(0)

export function readAlarms(message: Buffer): Alarms {
  const kinds = new Set<number>()
  for (const field of protobufFields(message)) {
    if (field.number !== 2) continue
    for (const one of protobufFields(bytes(field.value))) {
      if (one.number === 2) kinds.add(number(one.value))
    }
  }
  return { isOutOfSpace: kinds.has(1), isCorrupt: kinds.has(2) }
}

/** `id` is new, and chosen by the client. */
export function writeLeaseGrant(id: number, seconds: number): Buffer {
  return protobufMessage([1, seconds], [2, id])
}

export function writeAuthenticate(name: string, password: string): Buffer {
  return protobufMessage([1, name], [2, password])
}

export function readToken(message: Buffer): string {
  for (const field of protobufFields(message)) {
    if (field.number === 2) return bytes(field.value).toString()
  }
  return ''
}
