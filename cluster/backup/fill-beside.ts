/**
 * Filling a store beside the present one. The cluster goes on with its own until the other takes its place, and the present one is
 * kept: nothing is ever written over.
 */
import { existsSync, renameSync, rmSync } from 'node:fs'
import { dirname } from 'node:path'
import { readSaved, savedLimits } from '../../components/store/saved-cluster.ts'
import { syncFolder } from '../../components/store/sync-folder.ts'
import type { Clock } from '../../components/component-base/clock.ts'
import { ClusterError } from '../cluster-error.ts'
import type { ClusterConfig } from '../plan/cluster-config.ts'
import { describeStore, withStorePlace, type StorePlace } from '../plan/store-place.ts'
import { apiServerOutput, type ApiServerRun } from '../saved/api-server-run.ts'
import { printedState } from '../saved/stored-state.ts'
import type { Feed } from './write-feed.ts'

/** The cluster is stopped, and the caller holds its lock. */
export type Where = Omit<ApiServerRun, 'flags'>

export interface Filling extends Where {
  readonly target: StorePlace
  /** What the store is to hold. */
  readonly feed: Feed
  /** Distinguishes what is kept from earlier ones: `restore-20260101T000000Z`. */
  readonly label: string
}

export interface FilledStore {
  /** The configuration of a cluster that runs on it. */
  readonly config: ClusterConfig
  /** Puts it in its place; returns how to call what was there, if anything was. */
  takePlace(): string | undefined
}

/** `restore-20260101T000000Z`, for names of files. */
export function stampedLabel(what: string, clock: Clock): string {
  return `${what}-${new Date(clock.now()).toISOString().replace(/\.\d+/, '').replaceAll(/[-:]/g, '')}`
}

/** What belongs to a store's file, but for the room that it reserves. */
const suffixes = ['', '-wal', '-shm']
const reserve = '-reserve'
const mostPrefixes = 100

function removeFiles(path: string): void {
  for (const suffix of [...suffixes, reserve]) rmSync(`${path}${suffix}`, { force: true })
}

/** Gives the files of a store another name; takes the names back when one cannot be given. */
export function moveStoreFiles(from: string, to: string): void {
  const moved: string[] = []
  try {
    for (const suffix of suffixes) {
      if (!existsSync(`${from}${suffix}`)) continue
      renameSync(`${from}${suffix}`, `${to}${suffix}`)
      moved.push(suffix)
    }
  } catch (error) {
    for (const suffix of moved) renameSync(`${to}${suffix}`, `${from}${suffix}`)
    throw error
  }
  rmSync(`${from}${reserve}`, { force: true })
  syncFolder(dirname(to))
}

/** Whether the store that the configuration names holds anything. */
async function holdsKeys(where: Where): Promise<boolean> {
  const { kvs } = await readSaved(printedState({ ...where, form: 'backup' }))
  for await (const _ of kvs) return true
  return false
}

/** The first prefix below which there are no keys: the wanted one, or the same with a number. */
async function freePlace(
  where: Where,
  target: StorePlace & { readonly kind: 'etcd' },
): Promise<StorePlace> {
  for (let number = 1; number <= mostPrefixes; number += 1) {
    const prefix = number === 1 ? target.prefix : `${target.prefix}-${number}`
    const place = { ...target, prefix }
    const config = withStorePlace(where.config, place, where.paths)
    if (!(await holdsKeys({ ...where, config }))) return place
  }
  throw new ClusterError(
    'failed',
    `there are keys in etcd below ${target.prefix} and its numbers`,
    {
      hint: 'delete what is not needed any more with: etcdctl del --prefix',
    },
  )
}

async function countKeys(where: Where): Promise<number> {
  const limits = { ...savedLimits, totalBytes: Infinity }
  const { kvs } = await readSaved(printedState({ ...where, form: 'backup' }), limits)
  let count = 0
  for await (const _ of kvs) count += 1
  return count
}

async function fill(where: Where, { path, objects }: Feed): Promise<void> {
  const flags = [`--initial-state=${path}`, '--initial-state-only=true']
  for await (const _ of apiServerOutput({ ...where, flags })) {
    // It has nothing to say.
  }
  const stored = await countKeys(where)
  if (stored !== objects)
    throw new ClusterError('failed', `the new store holds ${stored} objects of ${objects}`)
}

async function fillEtcd(
  filling: Filling,
  target: StorePlace & { readonly kind: 'etcd' },
): Promise<FilledStore> {
  const place = await freePlace(filling, target)
  const config = withStorePlace(filling.config, place, filling.paths)
  await fill({ ...filling, config }, filling.feed)
  const isOther = place.kind === 'etcd' && place.prefix !== target.prefix
  return { config, takePlace: () => (isOther ? describeStore(target) : undefined) }
}

async function fillFile(
  filling: Filling,
  target: StorePlace & { readonly kind: 'sqlite' },
): Promise<FilledStore> {
  const { paths, label } = filling
  const draft = `${target.path}.new`
  removeFiles(draft)
  try {
    const config = withStorePlace(filling.config, { ...target, path: draft }, paths)
    await fill({ ...filling, config }, filling.feed)
  } catch (error) {
    removeFiles(draft)
    throw error
  }
  const takePlace = (): string | undefined => {
    const aside = `${target.path}.before-${label}`
    const isThere = existsSync(target.path)
    if (isThere) moveStoreFiles(target.path, aside)
    try {
      moveStoreFiles(draft, target.path)
    } catch (error) {
      if (isThere) moveStoreFiles(aside, target.path)
      throw error
    }
    return isThere ? aside : undefined
  }
  return { config: withStorePlace(filling.config, target, paths), takePlace }
}

/** Rejects with a ClusterError; then nothing has changed. */
export async function fillBeside(filling: Filling): Promise<FilledStore> {
  const { target } = filling
  if (target.kind === 'etcd') return await fillEtcd(filling, target)
  if (target.kind === 'sqlite') return await fillFile(filling, target)
  throw new ClusterError('failed', 'a store in memory ends with its process', {
    hint: 'use --to sqlite, or --to etcd:ADDRESS',
  })
}
