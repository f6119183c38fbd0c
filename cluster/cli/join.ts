/** `skiff join`: runs a node agent on this machine for a cluster elsewhere, given its URL, a token and a CA pin. */
import { mkdirSync, readFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { join as joinPath, resolve } from 'node:path'
import { spawn } from 'node:child_process'
import { defineFlags, flag } from '../../components/component-base/flags.ts'
import type { FlagValues } from '../../components/component-base/flags.ts'
import { formatToken, parseToken } from '../plan/bootstrap-token.ts'
import { ClusterError } from '../cluster-error.ts'
import { readLines } from '../lines.ts'
import { readableLine } from '../log-tail.ts'
import { writeTokenFile } from '../plan/prepare.ts'
import { builtPrograms } from '../plan/programs.ts'
import { withClearErrors } from '../state/state-dir.ts'
import {
  hasCertificate,
  isServerOf,
  readStoredNode,
  setStoredNodeAside,
} from '../state/stored-node.ts'
import { explained } from '../system-error.ts'
import { defineCommand } from './command.ts'
import type { CommandContext } from './command.ts'
import { exitCodes } from './exit-codes.ts'
import { checkCaHash, checkServer } from './join-place.ts'
import { checkNodeName } from '../check-node.ts'

const flags = defineFlags({
  token: flag.string(
    'The bootstrap token; other users can see it here, so prefer --token-file.',
    '',
  ),
  'token-file': flag.string('File with the bootstrap token.', ''),
  'discovery-token-ca-cert-hash': flag.string("CA pin: sha256:HEX of the CA's public key.", ''),
  'discovery-token-unsafe-skip-ca-verification': flag.bool(
    'Join without a CA pin. Anyone who knows the token can then impersonate the cluster.',
    false,
  ),
  'node-name': flag.string("Name of the node; by default this machine's host name.", ''),
  'root-dir': flag.string(
    'Directory for the key, the certificate and the checkpoints of the agent.',
    '',
  ),
  address: flag.string('Address at which the API server reaches the agent.', ''),
  port: flag.int('Port of the agent; 0 for a free one.', 10250, { least: 0 }),
  dialect: flag.string('Dialect of that cluster.', 'kubernetes', {
    choices: ['kubernetes', 'svc'],
  }),
})

interface Wanted {
  readonly name: string
  readonly rootDir: string
  readonly server: string
  /** Empty: the CA is not pinned. */
  readonly pin: string
  readonly hasToken: boolean
}

/**
 * Handles a key from an earlier join. A key of the same cluster is kept. A key of another cluster is set aside if a token is
 * given; without a token it is a ClusterError that names its CA.
 */
async function settleStored(wanted: Wanted, { terminal, clock }: CommandContext): Promise<void> {
  const { name, rootDir, server, pin, hasToken } = wanted
  const stored = await readStoredNode(rootDir)
  if (stored === undefined) return
  const isPinned = pin === '' || stored.pins.includes(pin)
  if (isPinned && (await isServerOf(server, stored.caPem, clock))) return
  const whose = `node "${name}" has the key of another cluster (CA ${stored.pins.join(', ')})`
  if (!hasToken) {
    throw new ClusterError('usage', `${whose} in ${rootDir}`, {
      hint: 'join with a token of this cluster (skiff token create), or pass another --node-name or --root-dir',
    })
  }
  const aside = withClearErrors(rootDir, () => setStoredNodeAside(rootDir))
  terminal.err(`${whose}; moved it to ${aside}\n`)
}

type Given = FlagValues<typeof flags>

/** The CA pin, or '' when its check is skipped on purpose. Throws a ClusterError of kind `usage` otherwise. */
function checkPin(given: Given): string {
  const pin = given['discovery-token-ca-cert-hash']
  if (pin !== '') return checkCaHash(pin)
  if (!given['discovery-token-unsafe-skip-ca-verification']) {
    throw new ClusterError('usage', 'the CA pin is missing', {
      hint: 'pass --discovery-token-ca-cert-hash, or --discovery-token-unsafe-skip-ca-verification to join without it',
    })
  }
  return pin
}

/** The node's name: the one given, or this machine's host name. */
function nodeNameOf(given: Given): string {
  const name = given['node-name'] === '' ? hostname().toLowerCase() : given['node-name']
  checkNodeName(name)
  return name
}

function checkPort({ port }: Given): void {
  if (port <= 65_535) return
  throw new ClusterError('usage', `invalid --port ${port}: must be from 0 to 65535`, {
    hint: 'pass --port 0 for a free port',
  })
}

async function tokenOf(given: Given): Promise<string | undefined> {
  const file = given['token-file']
  const text = file === '' ? given.token : await explained(file, () => readFileSync(file, 'utf8'))
  return text === '' ? undefined : formatToken(parseToken(text))
}

/** Runs the agent until it ends; resolves with how it ended. Aborting ends the channel to it, which stops it on every system. */
async function runAgent(
  args: readonly string[],
  { signal, terminal }: CommandContext,
): Promise<{ code: number | null; by: string | null }> {
  const script = joinPath(builtPrograms().folder, 'node-agent.js')
  // Detached: a Ctrl-C reaches the agent once, through us, and the agent can end its pods in its own time.
  // The end of the channel tells the agent that this process has ended, however it ended.
  const agent = spawn(process.execPath, [script, ...args], {
    stdio: ['ignore', 'inherit', 'pipe', 'ignore', 'ipc'],
    detached: true,
    windowsHide: true,
  })
  const stop = (): void => {
    if (agent.connected) agent.disconnect()
  }
  signal.addEventListener('abort', stop, { once: true })
  const { stderr } = agent
  if (stderr === null) throw new Error('standard error is a pipe')
  const logged = readLines(stderr, (line) => terminal.err(`${readableLine(line)}\n`))
  const end = await new Promise<{ code: number | null; by: string | null }>((done, reject) => {
    agent.once('error', reject)
    agent.once('exit', (code, by) => done({ code, by }))
  })
  await logged
  return end
}

export const join = defineCommand({
  name: 'join',
  summary: 'Run a node agent on this machine for a cluster on another machine',
  description:
    'Stays in the foreground until Ctrl-C. Only the first start needs a token; later starts use the certificate of the\n' +
    'node. A key of another cluster is set aside if a token is given, and is an error otherwise.\n' +
    "On the cluster's machine, `skiff token create --print-join-command` prints the command to run here. That cluster\n" +
    'must listen on an address that this machine can reach: skiff up --address.',
  arguments: [{ name: 'SERVER' }],
  flags,
  handlesInterrupt: true,
  examples: [
    [
      'skiff join https://192.0.2.1:6443 --token-file token --discovery-token-ca-cert-hash sha256:...',
      'Make this machine a node',
    ],
  ],
  run: async (context, { flags: given, args: [serverText = ''] }) => {
    const { stateRoot, signal } = context
    const server = checkServer(serverText)
    const pin = checkPin(given)
    const name = nodeNameOf(given)
    checkPort(given)
    const token = await tokenOf(given)
    const rootDir =
      given['root-dir'] === '' ? joinPath(stateRoot, 'nodes', name) : resolve(given['root-dir'])
    if (token === undefined && !hasCertificate(rootDir)) {
      throw new ClusterError('usage', `node "${name}" has no certificate yet and needs a token`, {
        hint: 'pass --token-file or --token; create a token on the cluster: skiff token create',
      })
    }
    await settleStored({ name, rootDir, server, pin, hasToken: token !== undefined }, context)
    const certDir = joinPath(rootDir, 'pki')
    withClearErrors(rootDir, () => mkdirSync(certDir, { recursive: true, mode: 0o700 }))
    const tokenFile = joinPath(rootDir, 'bootstrap.json')
    await writeTokenFile(tokenFile, token)
    const args = [
      `--config=${tokenFile}`,
      `--server=${server}`,
      `--node-name=${name}`,
      `--root-dir=${rootDir}`,
      `--cert-dir=${certDir}`,
      `--port=${given.port}`,
      `--dialect=${given.dialect}`,
      ...(pin === '' ? [] : [`--discovery-token-ca-cert-hash=${pin}`]),
      ...(given.address === '' ? [] : [`--address=${given.address}`]),
    ]
    const end = await runAgent(args, context)
    await writeTokenFile(tokenFile, undefined)
    if (signal.aborted) return exitCodes.ok
    if (end.code !== null) return end.code
    throw new ClusterError('failed', `${end.by ?? 'a signal'} ended the agent of node "${name}"`, {
      hint: 'run the same command to start it again; a node that has joined needs no token',
    })
  },
})
