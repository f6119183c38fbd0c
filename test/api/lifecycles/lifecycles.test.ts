/** The registry against what the components declare. */
import { describe, expect, it } from 'vitest'
import { apiServerFlags } from '../../../components/api-server/configuration/options.ts'
import {
  apiVersionEntries,
  deprecatedFlags,
} from '../../../components/api/lifecycles/lifecycles.ts'
import type { FlagDeclarations } from '../../../components/component-base/flags.ts'
import { controllerManagerFlags } from '../../../components/controller-manager/options.ts'
import { nodeAgentFlags } from '../../../components/node-agent/options.ts'
import { schedulerFlags } from '../../../components/scheduler/options.ts'

const components: Readonly<Record<string, FlagDeclarations>> = {
  'api-server': apiServerFlags,
  'controller-manager': controllerManagerFlags,
  'node-agent': nodeAgentFlags,
  scheduler: schedulerFlags,
}

describe('the registry of lifecycles', () => {
  it('has exactly the flags that components declare deprecated', () => {
    const declared = Object.entries(components).flatMap(([component, flags]) =>
      Object.entries(flags)
        .filter(([, { deprecated }]) => deprecated !== undefined)
        .map(([name]) => `${component} --${name}`),
    )
    const known = Object.entries(deprecatedFlags).flatMap(([component, flags]) =>
      Object.keys(flags).map((name) => `${component} --${name}`),
    )
    expect(declared.length).toBeGreaterThan(0)
    expect(declared.toSorted()).toEqual(known.toSorted())
  })

  it.each([
    ['VER-065', 'v1beta2', 'v1'],
    ['VER-070', 'v1beta1', 'v1beta2'],
  ])('names the replacement of flowcontrol that row %s states', (_row, old, replacement) => {
    for (const kind of ['FlowSchema', 'PriorityLevelConfiguration']) {
      const entry = apiVersionEntries().find(
        (one) => one.groupVersion === `flowcontrol/${old}` && one.kind === kind,
      )
      expect(entry?.replacement).toBe(`flowcontrol/${replacement} ${kind}`)
    }
  })
})
