/** flag-files: the files that flags name, read once at start. */
import { readFileSync } from 'node:fs'
import { StartError } from '../component-base/component.ts'
import type { AuthenticationInfo } from './bootstrap-objects.ts'
import type { ApiServerOptions } from './options.ts'

/** Reads a file that a flag names; the error says which flag. */
export function readFlagFile(name: string, path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    throw new StartError(`--${name}: cannot read ${path}: ${(error as Error).message}`, error)
  }
}

/** The listener's certificate and the authorities it names to clients. */
export function servingCertificate(options: ApiServerOptions) {
  const cert = options['tls-cert-file']
  const key = options['tls-private-key-file']
  if (cert === undefined || key === undefined) {
    throw new StartError('--tls-cert-file and --tls-private-key-file are required')
  }
  const clientCa = options['client-ca-file']
  return {
    cert: readFlagFile('tls-cert-file', cert),
    key: readFlagFile('tls-private-key-file', key),
    ...(clientCa === undefined ? {} : { clientCa: readFlagFile('client-ca-file', clientCa) }),
  }
}

/** What extension API servers need to know to authenticate as this one does. */
export function authenticationInfo(options: ApiServerOptions): AuthenticationInfo {
  const pem = (name: 'client-ca-file' | 'requestheader-client-ca-file') => {
    const path = options[name]
    return path === undefined ? undefined : readFlagFile(name, path)
  }
  const clientCaPem = pem('client-ca-file')
  const requestHeaderCaPem = pem('requestheader-client-ca-file')
  return {
    ...(clientCaPem === undefined ? {} : { clientCaPem }),
    ...(requestHeaderCaPem === undefined ? {} : { requestHeaderCaPem }),
    requestHeaderAllowedNames: options['requestheader-allowed-names'],
    requestHeaderUsernameHeaders: options['requestheader-username-headers'],
    requestHeaderGroupHeaders: options['requestheader-group-headers'],
    requestHeaderExtraPrefixes: options['requestheader-extra-headers-prefix'],
  }
}
