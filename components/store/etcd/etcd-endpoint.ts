/** EtcdEndpoint: one address of etcd, as `https://127.0.0.1:2379`. */
import type { GrpcAddress, GrpcTls } from '../../component-base/grpc/grpc-client.ts'
import { StoreError } from '../store.ts'

export interface EtcdEndpoint {
  readonly url: string
  readonly address: GrpcAddress
  /** Asked for each connection; absent: without TLS. */
  readonly tls?: () => GrpcTls
}

/** PEM texts: the authority of etcd's certificate, and the client's own certificate with its key. */
export type EtcdTls = Pick<GrpcTls, 'ca' | 'cert' | 'key'>

/** Rejects with StoreError `cannot-open` what is no such address. */
export function etcdEndpoint(url: string, tls: () => EtcdTls = () => ({})): EtcdEndpoint {
  const parsed = URL.parse(url)
  const scheme = parsed?.protocol
  const isPlain = scheme === 'http:'
  const isBare = parsed !== null && ['', '/'].includes(parsed.pathname) && parsed.username === ''
  if (!isBare || !(isPlain || scheme === 'https:') || parsed.hostname === '') {
    throw new StoreError(
      'cannot-open',
      `"${url}" is not an address of etcd: write http://HOST:PORT or https://HOST:PORT`,
    )
  }
  const host = parsed.hostname.replaceAll(/^\[|\]$/g, '')
  const port = Number(parsed.port) || (isPlain ? 80 : 443)
  return { url, address: { host, port }, ...(isPlain ? {} : { tls }) }
}
