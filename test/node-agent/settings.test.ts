import { expect, test } from 'vitest'
import { parseFlags } from '../../components/component-base/flags.ts'
import { nodeAgentFlags } from '../../components/node-agent/options.ts'
import { defaultPodRange, PodAddresses } from '../../components/node-agent/pods/pod-addresses.ts'
import { settingsOf } from '../../components/node-agent/settings.ts'
import { checkpointPath } from '../../components/node-agent/runtime/checkpoint-archive.ts'

const settings = (...args: string[]) => settingsOf(parseFlags(nodeAgentFlags, args))

test('[CKPT-010] archives go below /var/lib/kubelet unless told otherwise', () => {
  const { rootDir } = parseDefaults()
  const target = { namespace: 'ns', pod: 'p', container: 'c', nowMs: 0 }
  expect(checkpointPath(rootDir, target, 'linux')).toBe(
    '/var/lib/kubelet/checkpoints/checkpoint-p_ns-c-1970-01-01T00:00:00Z.tar',
  )
})

test('names of archives on Windows hold no colons', () => {
  const target = { namespace: 'ns', pod: 'p', container: 'c', nowMs: 0 }
  expect(checkpointPath('/x', target, 'win32')).toMatch(
    /checkpoint-p_ns-c-1970-01-01T00-00-00Z\.tar$/,
  )
})

function parseDefaults(): { rootDir: string } {
  const [first] = settings('--node-name=n1').nodes
  if (first === undefined) throw new Error('there is always a node')
  return first
}

test('a crowd of nodes has names and folders of their own', () => {
  const { nodes, isCrowd } = settings('--node-name=sim', '--nodes=2', '--root-dir=/x')
  expect(isCrowd).toBe(true)
  expect(nodes.map(({ nodeName, rootDir, certDir }) => [nodeName, rootDir, certDir])).toEqual([
    ['sim-0', '/x/nodes/sim-0', '/x/pki/sim-0'],
    ['sim-1', '/x/nodes/sim-1', '/x/pki/sim-1'],
  ])
})

test.each([
  ['--node-name=Not_A_Name', 'cannot be a node'],
  ['--register-with-taints=a', '--register-with-taints: invalid taint'],
  ['--eviction-hard=x<1', '--eviction-hard: unknown eviction signal'],
  ['--feature-gates=Nope=true', '--feature-gates: unrecognized feature gate: Nope'],
  ['--discovery-token-ca-cert-hash=md5:1', 'is not sha256:<64 hex digits>'],
])('%s is refused by name', (flag, message) => {
  expect(() => settings('--node-name=n1', flag)).toThrow(message)
})

test('pod addresses are unique, kept per pod, and given again in the order of asking', () => {
  const addresses = new PodAddresses('10.1.2.0/29')
  const given: string[] = []
  const assign = (podUid: string, preferred?: string): void =>
    addresses.assign({ podUid, preferred, onAddress: (one) => given.push(`${podUid} ${one}`) })
  for (const uid of ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i']) assign(uid)
  const first = ['a 10.1.2.2', 'b 10.1.2.3', 'c 10.1.2.4', 'd 10.1.2.5', 'e 10.1.2.6']
  expect(given.splice(0)).toEqual(first)
  assign('a')
  expect(given.splice(0)).toEqual(['a 10.1.2.2'])
  addresses.release('g')
  addresses.release('c')
  addresses.release('c')
  addresses.release('b')
  expect(given.splice(0)).toEqual(['f 10.1.2.4', 'h 10.1.2.3'])
  addresses.release('i')
  addresses.release('d')
  assign('j', '10.1.2.5')
  expect(given).toEqual(['j 10.1.2.5'])
  expect(() => new PodAddresses('10.1.2.0')).toThrow('is not an IPv4 range')
})

test('a range that the cluster gives later serves new pods; others keep their addresses, also over a restart', () => {
  const addresses = new PodAddresses('10.1.2.0/24')
  const given: string[] = []
  const assign = (podUid: string, preferred?: string): void =>
    addresses.assign({ podUid, preferred, onAddress: (one) => given.push(`${podUid} ${one}`) })
  assign('a')
  addresses.useRange('10.244.3.0/24')
  for (const uid of ['a', 'b']) assign(uid)
  assign('c', '10.1.2.9')
  expect(given).toEqual(['a 10.1.2.2', 'a 10.1.2.2', 'b 10.244.3.2', 'c 10.1.2.9'])
  expect(() => addresses.useRange('fd00::/64')).toThrow('is not an IPv4 range')
  assign('d')
  expect(given.at(-1)).toBe('d 10.244.3.3')
})

test('without an assigned range a node has its own, large enough for its pods', () => {
  expect(defaultPodRange('n1', 110)).toMatch(/^10\.\d+\.\d+\.0\/24$/)
  expect(defaultPodRange('n1', 110)).toBe(defaultPodRange('n1', 110))
  expect(defaultPodRange('n1', 110)).not.toBe(defaultPodRange('n2', 110))
  expect(defaultPodRange('n1', 1000)).toMatch(/\/22$/)
})
