/**
 * Sealing: encryption in the age format (age-encryption.org/v1), so that `age --decrypt` opens a backup without Skiff. The content is
 * authenticated in chunks of 64 KiB; nothing that was changed or cut off is ever handed on.
 */
import { ReadableStream } from 'node:stream/web'
import { Decrypter, Encrypter } from 'age-encryption'
import { ClusterError } from '../cluster-error.ts'
import { BackupError } from './backup-error.ts'

/** What a backup is encrypted to: a passphrase, or public keys (`age1...`). */
export type SealTo =
  { readonly passphrase: string } | { readonly recipients: readonly [string, ...string[]] }

/** What may open a backup: a passphrase, private keys (`AGE-SECRET-KEY-1...`), or both. */
export interface SealKeys {
  readonly passphrase?: string | undefined
  readonly identities?: readonly string[]
}

/** What every file in the format begins with. */
export const sealMark = Buffer.from('age-encryption.org/')

type WebStream = ReadableStream<Uint8Array>

/** Asks for each chunk when it is wanted. A stream of Node's own could push one to a reader that has given up after damage. */
function webStream(chunks: AsyncIterable<Uint8Array>): WebStream {
  return ReadableStream.from(chunks) as WebStream
}

/** Throws a ClusterError for what is no recipient. */
function encrypterTo(to: SealTo): Encrypter {
  const encrypter = new Encrypter()
  if ('passphrase' in to) {
    encrypter.setPassphrase(to.passphrase)
    return encrypter
  }
  for (const recipient of to.recipients) {
    try {
      encrypter.addRecipient(recipient)
    } catch (error) {
      throw new ClusterError('usage', `"${recipient}" is not a recipient of age`, {
        hint: 'it begins with age1; make one, with its key, by: age-keygen -o key.txt',
        cause: error,
      })
    }
  }
  return encrypter
}

/** The chunks, encrypted. Deriving a key from a passphrase takes about a second and 256 MiB. */
export async function* sealed(
  chunks: AsyncIterable<Uint8Array>,
  to: SealTo,
): AsyncGenerator<Uint8Array> {
  yield* await encrypterTo(to).encrypt(webStream(chunks))
}

function decrypterWith({ passphrase, identities = [] }: SealKeys): Decrypter {
  const decrypter = new Decrypter()
  if (passphrase !== undefined) decrypter.addPassphrase(passphrase)
  for (const identity of identities) {
    try {
      decrypter.addIdentity(identity)
    } catch {
      // Not with its cause, which may show the key.
      throw new ClusterError('usage', 'the identity file holds a line that is no key of age', {
        hint: 'its keys begin with AGE-SECRET-KEY-1, one a line',
      })
    }
  }
  return decrypter
}

/** The chunks, decrypted. Throws a BackupError for a wrong key, and for what is damaged. */
export async function* unsealed(
  chunks: AsyncIterable<Uint8Array>,
  keys: SealKeys,
): AsyncGenerator<Uint8Array> {
  if (keys.passphrase === undefined && (keys.identities ?? []).length === 0)
    throw new BackupError('is encrypted: pass --passphrase-file or --identity-file')
  const decrypter = decrypterWith(keys)
  const source = webStream(chunks)
  let opened: WebStream
  try {
    opened = await decrypter.decrypt(source)
  } catch (error) {
    throw new BackupError('cannot be decrypted: the key is wrong, or its header is damaged', {
      cause: error,
    })
  }
  try {
    yield* opened
  } catch (error) {
    if (isSystemError(error)) throw error
    const more = { isOfWhole: true, cause: error }
    throw new BackupError('is damaged or cut short', more)
  }
}

function isSystemError(error: unknown): boolean {
  return (error as NodeJS.ErrnoException | null)?.syscall !== undefined
}
