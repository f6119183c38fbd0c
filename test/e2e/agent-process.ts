/** A node agent as a process of its own that joins a running cluster with a token, for tests of its flags and environment. */
import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { formatToken } from '../../cluster/plan/bootstrap-token.ts'
import type { Cluster } from '../../cluster/cluster.ts'
import { createClient, type Client } from '../../components/client/client.ts'
import type { Place } from './place.ts'

const program = join(import.meta.dirname, '..', '..', 'dist', 'node-agent.js')

export interface AgentProcess {
  readonly name: string
  readonly rootDir: string
  /** The token it joined with. */
  readonly token: string
  /** The certificate and key that the cluster gave it, PEM; a file that is there once the node is Ready. */
  credential(): string
  /** A client with that credential; the caller closes it. */
  client(): Client
}

/** Starts an agent in `place`, which ends it; wait for its node with `waitForNodes`. */
export async function startAgentProcess(
  { place, cluster }: { place: Place; cluster: Cluster },
  name: string,
  options: { flags?: readonly string[]; environment?: Readonly<Record<string, string>> } = {},
): Promise<AgentProcess> {
  const { config, server } = cluster
  const rootDir = join(place.root, 'tmp', name)
  await mkdir(rootDir, { recursive: true })
  const token = formatToken(await cluster.createToken())
  const flagFile = join(rootDir, 'flags.json')
  await writeFile(flagFile, JSON.stringify({ 'bootstrap-token': token }), { mode: 0o600 })
  const args = [
    program,
    `--config=${flagFile}`,
    `--server=${server}`,
    `--discovery-token-ca-cert-hash=${config.caHash}`,
    `--node-name=${name}`,
    `--root-dir=${rootDir}`,
    '--address=127.0.0.1',
    '--port=0',
    ...(options.flags ?? []),
  ]
  spawn(process.execPath, args, {
    stdio: 'ignore',
    env: { ...process.env, ...options.environment },
  })
  const credential = (): string =>
    readFileSync(join(rootDir, 'pki', 'kubelet-client-current.pem'), 'utf8')
  return {
    name,
    rootDir,
    token,
    credential,
    client: () =>
      createClient({
        server,
        ca: readFileSync(join(cluster.paths.pki, 'ca.crt')),
        dialect: cluster.client.dialect,
        credentials: { cert: credential(), key: credential() },
      }),
  }
}
