/** `skiff join`: runs a node agent on this machine for a cluster elsewhere. A URL, a token and a CA pin are all it needs. */
import { mkdirSync, readFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { join as joinPath, resolve } from 'node:path'
import { spawn } from 'node:child_process'
import { defineFlags, flag } from '../../components/component-base/flags.ts'
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
import { checkNodeName } from './node-name.ts'

const flags = defineFlags({
  token: flag.string('The bootstrap token; better in a file.', ''),
  'token-file': flag.string('File that holds the token.', ''),
  'discovery-token-ca-cert-hash': flag.string("sha256:HEX of the CA's public key: the pin.", ''),
  'discovery-token-unsafe-skip-ca-verification': flag.bool(
    'Join without a pin: whoever knows the token could pretend to be the cluster.',
    false,
  ),
  'node-name': flag.string("Name of the node; this machine's host name.", ''),
  'root-dir': flag.string('Where the agent keeps its key, certificate and checkpoints.', ''),
  address: flag.string('Address of this machine that the API server reaches the agent at.', ''),
  port: flag.int('Port of the agent; 0 picks a free one.', 10250, { least: 0 }),
  dialect: flag.string('Names in the API of that cluster.', 'kubernetes', {
    choices: ['kubernetes', 'svc'],
  }),
})

function checkServer(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url?.protocol === 'https:') return text
  throw new ClusterError('usage', `"${text}" is not the URL of an API server`, {
    hint: 'it looks like https://192.0.2.1:6443',
  })
}

interface Wanted {
  readonly name: string
  readonly rootDir: string
  readonly server: string
  /** Empty: the CA is not pinned. */
  readonly pin: string
  readonly hasToken: boolean
}

/**
 * A key from an earlier join is used for the cluster that it is of. For another one a token wins: the key is set aside. Without
 * a token it is an error that names the key.
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
      hint: 'join this cluster with a token, or give another --node-name or --root-dir; the cluster makes one: skiff token create',
    })
  }
  const aside = withClearErrors(rootDir, () => setStoredNodeAside(rootDir))
  terminal.err(`${whose}; it is set aside in ${aside}\n`)
}

export const join = defineCommand({
  name: 'join',
  summary: 'Run a node agent here for a cluster on another machine',
  description:
    'Stays in the foreground until Ctrl-C; a second start needs no token, the node has its certificate then. A key of\n' +
    'another cluster is set aside when a token is given, and is an error without one.\n' +
    "On the cluster's machine, `skiff token create --print-join-command` prints the line to type here. That cluster\n" +
    'must listen on an address that can be reached: skiff up --address.',
  arguments: [{ name: 'SERVER' }],
  flags,
  handlesInterrupt: true,
  examples: [
    [
      'skiff join https://192.0.2.1:6443 --token-file token --discovery-token-ca-cert-hash sha256:...',
      'This machine becomes a node',
    ],
  ],
  run: async (context, { flags: given, args: [serverText = ''] }) => {
    const { stateRoot, signal, terminal } = context
    const server = checkServer(serverText)
    const pin = given['discovery-token-ca-cert-hash']
    if (pin !== '' && !/^sha256:[0-9a-f]{64}$/.test(pin)) {
      throw new ClusterError('usage', 'the CA pin must be sha256: and 64 hexadecimal digits', {
        hint: 'see it on the cluster: skiff token create --print-join-command',
      })
    }
    if (pin === '' && !given['discovery-token-unsafe-skip-ca-verification']) {
      throw new ClusterError('usage', 'the CA pin is missing', {
        hint: 'give --discovery-token-ca-cert-hash, or --discovery-token-unsafe-skip-ca-verification',
      })
    }
    const name = given['node-name'] === '' ? hostname().toLowerCase() : given['node-name']
    checkNodeName(name)
    if (given.port > 65_535) {
      throw new ClusterError('usage', `${given.port} is not a port`, {
        hint: 'a port is a number from 0 to 65535; 0 picks a free one',
      })
    }
    const file = given['token-file']
    const tokenText =
      file === '' ? given.token : await explained(file, () => readFileSync(file, 'utf8'))
    const token = tokenText === '' ? undefined : formatToken(parseToken(tokenText))
    const rootDir =
      given['root-dir'] === '' ? joinPath(stateRoot, 'nodes', name) : resolve(given['root-dir'])
    const certDir = joinPath(rootDir, 'pki')
    if (token === undefined && !hasCertificate(rootDir)) {
      throw new ClusterError('usage', `node "${name}" has no certificate yet, and needs a token`, {
        hint: 'give --token-file or --token; the cluster makes one: skiff token create',
      })
    }
    await settleStored({ name, rootDir, server, pin, hasToken: token !== undefined }, context)
    withClearErrors(rootDir, () => mkdirSync(certDir, { recursive: true, mode: 0o700 }))
    const tokenFile = joinPath(rootDir, 'bootstrap.json')
    await writeTokenFile(tokenFile, token)
    const script = joinPath(builtPrograms().folder, 'node-agent.js')
    const agent = spawn(
      process.execPath,
      [
        script,
        `--config=${tokenFile}`,
        `--server=${server}`,
        `--node-name=${name}`,
        `--root-dir=${rootDir}`,
        `--cert-dir=${certDir}`,
        `--port=${given.port}`,
        `--dialect=${given.dialect}`,
        ...(pin === '' ? [] : [`--discovery-token-ca-cert-hash=${pin}`]),
        ...(given.address === '' ? [] : [`--address=${given.address}`]),
      ],
      // Detached: a Ctrl-C reaches it once, through us, and it can end its pods in its own time.
      // The channel's end tells it that we are gone, however we ended.
      { stdio: ['ignore', 'inherit', 'pipe', 'ignore', 'ipc'], detached: true },
    )
    signal.addEventListener('abort', () => agent.kill('SIGTERM'), { once: true })
    const { stderr } = agent
    if (stderr === null) throw new Error('standard error is a pipe')
    const logged = readLines(stderr, (line) => terminal.err(`${readableLine(line)}\n`))
    const end = await new Promise<{ code: number | null; by: string | null }>((done, reject) => {
      agent.once('error', reject)
      agent.once('exit', (code, by) => done({ code, by }))
    })
    await logged
    await writeTokenFile(tokenFile, undefined)
    if (signal.aborted) return exitCodes.ok
    if (end.code !== null) return end.code
    throw new ClusterError('failed', `the agent of node "${name}" was ended by ${end.by ?? '?'}`, {
      hint: 'the same command starts it again; it needs no token any more once it has joined',
    })
  },
})
