/** The flags of kube-apiserver as envtest's suites pass them. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { commonFlags } from '../../components/component-base/component.ts'
import { describeFlags, parseFlags } from '../../components/component-base/flags.ts'
import { createLog } from '../../components/component-base/log.ts'
import { reportIdleFlags } from '../../envtest/idle-flags.ts'
import { idleServerFlags, kubeApiServerFlags } from '../../envtest/kube-apiserver-flags.ts'
import { knownGates } from '../../envtest/known-gates.ts'
import { FakeClock } from '../support/fake-clock.ts'

const upstream = readFileSync(
  join(import.meta.dirname, '../cases/envtest/kube-apiserver-flags-1.32.txt'),
  'utf8',
)
  .trim()
  .split('\n')

const declarations = { ...kubeApiServerFlags, ...commonFlags }

/** What controller-runtime 0.25 passes. */
const ofEnvtest = [
  '--allow-privileged=true',
  '--authorization-mode=RBAC',
  '--bind-address=127.0.0.1',
  '--cert-dir=/tmp/k8s_test_framework_1',
  '--client-ca-file=/tmp/k8s_test_framework_1/client-cert-auth-ca.crt',
  '--disable-admission-plugins=ServiceAccount',
  '--etcd-servers=http://127.0.0.1:4000',
  '--secure-port=4001',
  '--service-account-issuer=https://127.0.0.1:4001/',
  '--service-account-key-file=/tmp/k8s_test_framework_1/sa-signer.crt',
  '--service-account-signing-key-file=/tmp/k8s_test_framework_1/sa-signer.key',
  '--service-cluster-ip-range=10.0.0.0/24',
]

describe('flags of the kube-apiserver for envtest', () => {
  it('every flag of upstream’s release 1.32 is accepted', () => {
    expect(upstream.length).toBeGreaterThan(150)
    expect(upstream.filter((name) => !Object.hasOwn(declarations, name))).toEqual([])
  })

  it('no flag is declared without effect that the server has', () => {
    const idle = [...idleServerFlags.switches, ...idleServerFlags.values]
    const help = describeFlags(declarations)
    expect(idle.filter((name) => help.includes(`  --${name} `))).toEqual([])
  })

  it('the flags that envtest passes are understood, and those without effect are named in the log', () => {
    const options = parseFlags(declarations, ofEnvtest)
    expect(options).toMatchObject({
      'cert-dir': '/tmp/k8s_test_framework_1',
      'etcd-servers': ['http://127.0.0.1:4000'],
      'secure-port': 4001,
    })
    const lines: string[] = []
    const log = createLog({ clock: new FakeClock(), write: (line) => lines.push(line) })
    reportIdleFlags(idleServerFlags, options, log)
    expect(lines.map((line) => JSON.parse(line) as object)).toMatchObject([
      { message: 'flags without effect', flags: ['--allow-privileged'] },
    ])
  })

  it('a flag that upstream does not have is an error', () => {
    expect(() => parseFlags(declarations, ['--allow-priviledged=true'])).toThrow(
      'unknown flag --allow-priviledged; did you mean --allow-privileged?',
    )
  })

  it('feature gates that the server does not have are named in the log and left out', () => {
    const lines: string[] = []
    const log = createLog({ clock: new FakeClock(), write: (line) => lines.push(line) })
    const text = 'WatchList=false, InPlacePodVerticalScaling=true,AllAlpha=false,'
    expect(knownGates(text, log)).toBe('WatchList=false,AllAlpha=false')
    expect(lines.map((line) => JSON.parse(line) as object)).toMatchObject([
      { level: 'warn', gates: [' InPlacePodVerticalScaling=true'] },
    ])
    expect(knownGates('', log)).toBe('')
    expect(lines).toHaveLength(1)
  })

  it('help does not show insecure-port, so that envtest does not pass it', () => {
    expect(describeFlags(declarations)).not.toMatch(/^\s*--insecure-port\b/m)
  })
})
