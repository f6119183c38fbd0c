/** Scenarios that ship see what they say: without its cause, each fails. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { systemClock } from '../../components/component-base/clock.ts'
import { startScenarioCluster } from '../../library/embedded-scenarios.ts'
import { runScenarios } from '../../scenarios/engine/runner.ts'
import { readScenario } from '../../scenarios/engine/scenario.ts'
import { scenarioNameOf, shippedFiles } from '../../scenarios/engine/shipped-scenarios.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

/** Scenario -> its cause, what takes its place, and the title of the step that fails then. */
const causes: Readonly<Record<string, readonly [string, string, string]>> = {
  'store-full': ['{ full: true }', '{ delayMs: 1 }', 'a new object is refused'],
  'namespace-blocked-by-api': [
    'delete: { kind: Namespace, name: shop }',
    'delete: { kind: APIService, name: v1.gone.example.com }',
    'the namespace says which API',
  ],
  'bad-image-undone': [
    'skiff.dev/start: image-pull-error',
    'example.com/release: next',
    'three pods are available all the time',
  ],
  'job-gives-up': ['values: [42]', 'values: [43]', 'the exit code 42'],
  'node-clock-ahead': ['aheadMs: 3600000', 'aheadMs: 1', 'node-2'],
  'certificate-last-minute': [
    'component: { resume: controller-manager }',
    'time: { advance: 1s }',
    'the new certificate is signed',
  ],
  'token-ends-during-join': ['ttl: 40s', 'ttl: 10m', 'the token ends meanwhile'],
  'leadership-lost': ['delayMs: 10000', 'delayMs: 1', 'nobody leads'],
  'watches-after-restart': [
    'component: { kill: api-server }',
    'component: { stop: api-server }',
    'three times',
  ],
}

test.each(Object.entries(causes))('%s fails without its cause', async (name, cause) => {
  const [given, instead, title] = cause
  const file = shippedFiles().find((one) => scenarioNameOf(one) === name) ?? ''
  const text = readFileSync(file, 'utf8')
  expect(text).toContain(given)
  const changed = join(temporaryFolder('causes'), `${name}.yaml`)
  writeFileSync(changed, text.replace(given, instead))
  const [result] = await runScenarios([readScenario(changed)], {
    clock: systemClock,
    signal: new AbortController().signal,
    stateRoot: temporaryFolder('causes'),
    keep: false,
    startEmbedded: startScenarioCluster,
  })
  const failed = result?.steps.find(({ outcome }) => outcome === 'failed')
  expect(failed?.title).toContain(title)
})
