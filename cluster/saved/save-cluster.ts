/** Saving a cluster: everything that its store holds at one revision, and the nodes that run with it, as a file. */
import { resolve } from 'node:path'
import { writeSavedFile } from '../../components/store/saved-cluster-file.ts'
import {
  readSaved,
  SavedClusterError,
  type SavedForm,
  type SavedHeader,
} from '../../components/store/saved-cluster.ts'
import type { KeyValue } from '../../components/store/store.ts'
import type { Clock } from '../../components/component-base/clock.ts'
import { ClusterError } from '../cluster-error.ts'
import { ownVersion } from '../own-version.ts'
import { readClusterConfig } from '../plan/cluster-config.ts'
import type { ExtraFlags, NodeConfig } from '../plan/cluster-config.ts'
import type { Programs } from '../plan/programs.ts'
import { noSuchCluster, stateDirExists, statePaths } from '../state/state-dir.ts'
import { explained } from '../system-error.ts'
import { openStoredState } from './stored-state.ts'

export interface SaveClusterOptions {
  readonly name: string
  readonly stateRoot: string
  readonly file: string
  readonly form: SavedForm
  readonly programs: Programs
  readonly clock: Clock
  readonly signal: AbortSignal
  /** Called now and then with the number of objects so far. */
  readonly onProgress: (objects: number) => void
}

export interface SavedResult {
  readonly file: string
  readonly revision: number
  readonly objects: number
  readonly bytes: number
  /** Where it was read: from the API server, or from the store of a stopped cluster. */
  readonly from: 'running' | 'stopped'
}

const reportEvery = 500

class Counted {
  count = 0

  async *of(
    kvs: AsyncIterable<KeyValue>,
    onProgress: SaveClusterOptions['onProgress'],
  ): AsyncGenerator<KeyValue> {
    for await (const kv of kvs) {
      this.count += 1
      if (this.count % reportEvery === 0) onProgress(this.count)
      yield kv
    }
  }
}

/** What the file says of the cluster beside its objects. */
export interface SavedSurroundings {
  readonly nodes: readonly NodeConfig[]
  readonly flags: ExtraFlags
}

export function wholeHeader(header: SavedHeader, { nodes, flags }: SavedSurroundings): SavedHeader {
  const writtenBy = `skiff ${ownVersion()}`
  return { ...header, writtenBy, nodes, flags: flags as SavedHeader['flags'] }
}

/** Writes the lines of an API server to a file, whole or not at all. Rejects with a ClusterError. */
export async function writeState(
  chunks: AsyncIterable<Uint8Array>,
  {
    file,
    nodes,
    flags,
    onProgress,
  }: SavedSurroundings & Pick<SaveClusterOptions, 'file' | 'onProgress'>,
): Promise<Pick<SavedResult, 'revision' | 'objects' | 'bytes'>> {
  const counted = new Counted()
  try {
    const { header, kvs } = await readSaved(chunks)
    const whole = wholeHeader(header, { nodes, flags })
    const saved = counted.of(kvs, onProgress)
    const { bytes } = await explained(file, () => writeSavedFile(file, whole, saved))
    return { revision: header.revision, objects: counted.count, bytes }
  } catch (error) {
    if (!(error instanceof SavedClusterError)) throw error
    throw new ClusterError('failed', `cannot save the cluster: ${error.message}`, {
      cause: error,
    })
  }
}

/** Rejects with a ClusterError; then there is no file, or the one from before. */
export async function saveCluster(options: SaveClusterOptions): Promise<SavedResult> {
  const { name, onProgress } = options
  const paths = statePaths(options.stateRoot, name)
  const config = stateDirExists(paths) ? readClusterConfig(paths) : undefined
  if (config === undefined) throw noSuchCluster(name)
  const file = resolve(options.file)
  const { nodes, extraFlags: flags } = config
  const state = await openStoredState({ ...options, config, paths })
  try {
    const written = await writeState(state.chunks, { file, nodes, flags, onProgress })
    return { file, ...written, from: state.from }
  } finally {
    await state[Symbol.asyncDispose]()
  }
}
