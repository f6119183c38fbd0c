/** flag-files: the files that flags name, read once at start. */
import { createPrivateKey, X509Certificate } from 'node:crypto'
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

/** A parsed value; the error says which flag's file is none. */
function parsed<T>(name: string, path: string, what: string, parse: () => T): T {
  try {
    return parse()
  } catch (error) {
    throw new StartError(`--${name}: ${path} holds no ${what}`, error)
  }
}

/** Certificate and key, which must belong together. */
function readPair(certFile: string, keyFile: string): { cert: string; key: string } {
  const cert = readFlagFile('tls-cert-file', certFile)
  const key = readFlagFile('tls-private-key-file', keyFile)
  const leaf = parsed('tls-cert-file', certFile, 'certificate', () => new X509Certificate(cert))
  const secret = parsed('tls-private-key-file', keyFile, 'private key', () => createPrivateKey(key))
  if (!leaf.checkPrivateKey(secret)) {
    throw new StartError(`--tls-private-key-file: ${keyFile} is not the key of ${certFile}`)
  }
  return { cert, key }
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
    ...readPair(cert, key),
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
