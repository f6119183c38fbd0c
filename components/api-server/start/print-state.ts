/** print-state: writes what the store holds to standard output (--print-state), for `skiff save` and `skiff backup` of a cluster that is stopped. */
import { Readable, type Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { StartError } from '../../component-base/component.ts'
import { SavedClusterError, savedForms, savedLines } from '../../store/saved-cluster.ts'
import type { SavedStateOptions } from '../saving/saved-state.ts'
import { refuseOverridesWith } from './etcd-overrides.ts'
import { encryptionOf } from './flag-files.ts'
import { openStorage, storedFormsOf } from './open-storage.ts'
import type { Settings } from './settings.ts'
import type { State } from './state.ts'

/** What a saved cluster of this server is made from. */
export function stateToSave(
  { options, clock, dialect, version }: Settings,
  { store, transformers }: Pick<State, 'store' | 'transformers'>,
): Omit<SavedStateOptions, 'form'> {
  return {
    store,
    transformers,
    dialect,
    clock,
    serviceRange: options['service-cluster-ip-range'],
    writtenBy: `kube-apiserver ${version.gitVersion}`,
  }
}

/** Opens the store, writes and closes it. Rejects with a StartError for what cannot be saved. */
export async function printState(settings: Settings, output: Writable): Promise<void> {
  const { options } = settings
  refuseOverridesWith(options, 'print-state')
  const encrypted = await encryptionOf(settings)
  const transformers = storedFormsOf(settings, encrypted)
  const { store } = await openStorage(settings)
  try {
    const { savedState } = await import('../saving/saved-state.ts')
    const from = stateToSave(settings, { store, transformers })
    const { header, kvs } = await savedState({
      ...from,
      form: savedForms.find((one) => one === options['print-state']) ?? 'whole',
    })
    await pipeline(Readable.from(savedLines(header, kvs)), output, { end: false })
  } catch (error) {
    if (!(error instanceof SavedClusterError)) throw error
    throw new StartError(error.message, error)
  } finally {
    encrypted?.encryption.close()
    await store.close()
  }
}
