/** TlsFiles: a certificate, its key and an authority bundle from files, read again when they change on disk. */
import { createPrivateKey, X509Certificate } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import type { Clock } from './clock.ts'
import { messageOf } from './log.ts'
import type { Log } from './log.ts'

export interface TlsFilePaths {
  readonly certFile?: string
  readonly keyFile?: string
  readonly caFile?: string
}

/** PEM texts of the files that were named. */
export interface TlsMaterial {
  readonly cert?: string
  readonly key?: string
  readonly ca?: string
}

export interface TlsFiles {
  /** The newest material that was whole and fitting. */
  readonly current: TlsMaterial
  /** Called after `current` changed, in order of registration. */
  onChange(listener: (material: TlsMaterial) => void): void
  /** Looks at the files until `signal` aborts. A change that does not fit (yet) is logged and the old material kept. */
  run(signal: AbortSignal): Promise<void>
}

/** The library's own message names neither file nor content. */
function parsed<T>(parse: () => T, otherwise: string): T {
  try {
    return parse()
  } catch (error) {
    throw new Error(otherwise, { cause: error })
  }
}

/** Throws when the key is not the certificate's, or a file holds no certificate. */
function check({ cert, key, ca }: TlsMaterial, paths: TlsFilePaths): TlsMaterial {
  if (cert !== undefined && key !== undefined) {
    const leaf = parsed(() => new X509Certificate(cert), `${paths.certFile} holds no certificate`)
    const secret = parsed(() => createPrivateKey(key), `${paths.keyFile} holds no private key`)
    if (!leaf.checkPrivateKey(secret))
      throw new Error(`the key ${paths.keyFile} is not that of the certificate ${paths.certFile}`)
  }
  if (ca !== undefined && !ca.includes('-----BEGIN CERTIFICATE-----'))
    throw new Error(`${paths.caFile} holds no certificate`)
  return { ...(cert && { cert }), ...(key && { key }), ...(ca && { ca }) }
}

async function read(paths: TlsFilePaths): Promise<TlsMaterial> {
  const load = async (path: string | undefined): Promise<string | undefined> =>
    path === undefined || path === '' ? undefined : readFile(path, 'utf8')
  const [cert, key, ca] = await Promise.all([
    load(paths.certFile),
    load(paths.keyFile),
    load(paths.caFile),
  ])
  return check({ ...(cert && { cert }), ...(key && { key }), ...(ca && { ca }) }, paths)
}

/** Reads the files; rejects when one is missing or they do not fit together. `pollMs` defaults to 10 s. */
export async function loadTlsFiles(options: {
  readonly paths: TlsFilePaths
  readonly clock: Clock
  readonly log: Log
  readonly pollMs?: number
}): Promise<TlsFiles> {
  const { paths, clock, log, pollMs = 10_000 } = options
  const listeners: ((material: TlsMaterial) => void)[] = []
  let current = await read(paths)
  let lastFault = ''

  const look = async (): Promise<void> => {
    try {
      const next = await read(paths)
      lastFault = ''
      if (next.cert === current.cert && next.key === current.key && next.ca === current.ca) return
      current = next
      log.info('TLS files changed', { ...paths })
      for (const listener of listeners) listener(next)
    } catch (error) {
      // Half-written pairs are normal for a moment; say each fault once.
      if (messageOf(error) !== lastFault)
        log.warn('TLS files not usable; keeping what was read before', { why: messageOf(error) })
      lastFault = messageOf(error)
    }
  }

  return {
    get current() {
      return current
    },
    onChange: (listener) => void listeners.push(listener),
    run: async (signal) => {
      try {
        for (;;) {
          await clock.sleep(pollMs, signal)
          await look()
        }
      } catch (error) {
        if (!signal.aborted) throw error
      }
    },
  }
}
