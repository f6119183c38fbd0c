/**
 * saved-form: the form of a stored object in a saved cluster. What belongs to the processes of this cluster stays behind: their
 * leases, and the credentials that its own keys have made. A backup leaves out nothing.
 */
import { labelKey, type Dialect } from '../../api/dialect.ts'
import { resourcesOf } from '../../api/resources.ts'
import { SavedClusterError, type SavedForm } from '../../store/saved-cluster.ts'
import { storeKey } from '../watch-cache/store-keys.ts'

interface StoredSecret {
  readonly type?: string
  readonly metadata: { readonly annotations?: Readonly<Record<string, string>> }
  readonly data?: Readonly<Record<string, string>>
}

export interface SavedFormOptions {
  readonly dialect: Dialect
  readonly form: SavedForm
}

/** A Secret without its data, and without the copy of it that `kubectl apply` keeps. */
function emptied(whole: StoredSecret, dialect: Dialect): StoredSecret {
  const { data: _, ...secret } = whole
  const applied = labelKey(dialect, 'kubectl', 'last-applied-configuration')
  const { [applied]: copy, ...annotations } = secret.metadata.annotations ?? {}
  if (copy === undefined) return secret
  return { ...secret, metadata: { ...secret.metadata, annotations } }
}

function secretOf(key: string, bytes: Buffer): StoredSecret {
  try {
    return JSON.parse(bytes.toString()) as StoredSecret
  } catch {
    throw new SavedClusterError(`cannot read ${key}: what is stored is no object`)
  }
}

/** Undefined: the Secret stays behind. */
function savedSecret(
  secret: StoredSecret,
  bytes: Buffer,
  { dialect, form }: SavedFormOptions,
): Buffer | undefined {
  if (secret.type === labelKey(dialect, 'bootstrap', 'token')) return undefined
  const bytesOf = (value: StoredSecret): Buffer => Buffer.from(`${JSON.stringify(value)}\n`)
  if (form === 'without-secrets') return bytesOf(emptied(secret, dialect))
  if (secret.type !== labelKey(dialect, '', 'service-account-token')) return bytes
  // The controller of token Secrets fills in a token of the new cluster.
  const { token: _, ...data } = secret.data ?? {}
  return bytesOf({ ...secret, data })
}

/** The bytes to save of a stored object, undefined when it stays behind. */
export function createSavedForm(
  options: SavedFormOptions,
): (key: string, bytes: Buffer) => Buffer | undefined {
  const { dialect, form } = options
  // It goes back to the same processes with the same keys.
  if (form === 'backup') return (_, bytes) => bytes
  const { secrets, leases, configMaps } = resourcesOf(dialect)
  const ofSecrets = storeKey(secrets, '')
  const ofProcesses = storeKey(leases, `${dialect.systemNamespace}/`)
  const clusterInfo = storeKey(configMaps, `${dialect.publicNamespace}/cluster-info`)
  return (key, bytes) => {
    if (key === clusterInfo || key.startsWith(ofProcesses)) return undefined
    return key.startsWith(ofSecrets) ? savedSecret(secretOf(key, bytes), bytes, options) : bytes
  }
}
