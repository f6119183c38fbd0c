/** The controller manager or the scheduler as a process of its own, with the rights of the admin of a test's API server. */
import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { get } from 'node:https'
import { join, resolve } from 'node:path'
import { expect } from 'vitest'
import { createKubeconfig, formatKubeconfig } from '../../components/client/kubeconfig.ts'
import { admin } from './api-server.ts'
import type { TestApiServer } from './api-server.ts'
import { eventually } from './eventually.ts'
import { temporaryFolder } from './temporary-folder.ts'

export interface ComponentProcesses {
  /** Spawns one with these flags besides those that it cannot do without. */
  start(...flags: readonly string[]): ChildProcess
  /** Does `use` while one with these flags runs; `show` reads a path of its listener. */
  during<T>(
    flags: readonly string[],
    use: (show: (path: string) => Promise<string>) => Promise<T>,
  ): Promise<T>
}

export async function componentProcesses(
  server: TestApiServer,
  component: 'scheduler' | 'controller-manager',
): Promise<ComponentProcesses> {
  const shared = [
    resolve(`components/${component}/main.ts`),
    ...(await sharedFlags(server, temporaryFolder(`${component}-process`))),
  ]
  const start = (...flags: readonly string[]): ChildProcess =>
    spawn(process.execPath, [...shared, ...flags], { stdio: ['ignore', 'ignore', 'pipe', 'pipe'] })
  return {
    start,
    during: async (flags, use) => {
      const child = start(...flags)
      try {
        let line = ''
        child.stdio[3]?.on('data', (chunk: Buffer) => (line += chunk.toString()))
        await eventually(() => expect(line).toContain('\n'))
        const { port } = JSON.parse(line) as { port: number }
        return await use((path) => textAt(server, port, path))
      } finally {
        const closed = once(child, 'close')
        child.kill('SIGTERM')
        await closed
      }
    },
  }
}

async function sharedFlags(server: TestApiServer, folder: string): Promise<string[]> {
  const file = (name: string, text: string): string => {
    const path = join(folder, name)
    writeFileSync(path, text, { mode: 0o600 })
    return path
  }
  const { credentials, authority } = server.pki
  const own = server.credential(admin)
  if (own === undefined) throw new Error('the admin has a certificate')
  const kubeconfig = createKubeconfig({
    cluster: 'test',
    user: 'test',
    server: `https://127.0.0.1:${server.port}`,
    ca: authority.certificatePem,
    credentials: { cert: own.certificatePem, key: own.privateKeyPem },
  })
  return [
    `--kubeconfig=${file('kubeconfig', await formatKubeconfig(kubeconfig))}`,
    `--tls-cert-file=${file('tls.crt', credentials.apiserver.certificatePem)}`,
    `--tls-private-key-file=${file('tls.key', credentials.apiserver.privateKeyPem)}`,
    `--client-ca-file=${file('ca.crt', authority.certificatePem)}`,
    '--secure-port=0',
    '--leader-elect=false',
  ]
}

async function textAt(server: TestApiServer, port: number, path: string): Promise<string> {
  const { certificatePem: cert, privateKeyPem: key } = server.credential(admin) ?? {}
  const ca = server.pki.authority.certificatePem
  return await new Promise((done, fail) => {
    get({ host: '127.0.0.1', port, path, cert, key, ca, agent: false }, (answer) => {
      let text = ''
      answer.on('data', (chunk: Buffer) => (text += chunk.toString()))
      answer.on('end', () => done(text))
    }).on('error', fail)
  })
}
