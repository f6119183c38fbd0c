/** Certificate pair: a certificate and its key, from the files of two flags that are followed. */
import { createPrivateKey, X509Certificate } from 'node:crypto'
import { StartError } from './component.ts'
import type { Files } from './files.ts'
import { openFollowedValue } from './followed-value.ts'
import type { FollowedValue } from './followed-value.ts'

/** PEM texts; the certificate's issuers may follow it. */
export interface CertificatePair {
  readonly cert: string
  readonly key: string
}

/** The library's own message names neither file nor content. */
function parsed<T>(parse: () => T, otherwise: string): T {
  try {
    return parse()
  } catch (error) {
    throw new Error(otherwise, { cause: error })
  }
}

/** Undefined when neither flag names a file. A key that is not the certificate's is never taken. Rejects with StartError. */
export async function openCertificatePair<C extends string, K extends string>(
  options: Readonly<Record<C | K, string | undefined>>,
  { cert: certFlag, key: keyFlag }: { readonly cert: C; readonly key: K },
  files?: Files,
): Promise<FollowedValue<CertificatePair> | undefined> {
  const certFile = options[certFlag]
  const keyFile = options[keyFlag]
  if (certFile === undefined && keyFile === undefined) return undefined
  if (certFile === undefined || keyFile === undefined) {
    throw new StartError(`--${certFlag} and --${keyFlag} go together`)
  }
  return await openFollowedValue(
    [
      [certFlag, certFile],
      [keyFlag, keyFile],
    ],
    ([cert = '', key = '']) => {
      const leaf = parsed(() => new X509Certificate(cert), `${certFile} holds no certificate`)
      const secret = parsed(() => createPrivateKey(key), `${keyFile} holds no private key`)
      if (!leaf.checkPrivateKey(secret)) throw new Error(`${keyFile} is not the key of ${certFile}`)
      return { cert, key }
    },
    files,
  )
}
