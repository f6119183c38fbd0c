/** A page for each component: how it is started, and its flags. */
import { apiServer } from '../../components/api-server/configuration/options.ts'
import { commonFlags } from '../../components/component-base/component.ts'
import type { ComponentDeclaration } from '../../components/component-base/component.ts'
import type { FlagDeclarations } from '../../components/component-base/flags.ts'
import { controllerManager } from '../../components/controller-manager/options.ts'
import { consoleProgram } from '../../console/options.ts'
import { loadBalancer } from '../../components/load-balancer/options.ts'
import { nodeAgent } from '../../components/node-agent/options.ts'
import { scheduler } from '../../components/scheduler/options.ts'
import { stageRunner } from '../../components/stage-runner/options.ts'
import { controllers } from '../../components/controller-manager/controllers.ts'
import { flagTable } from './flag-table.ts'
import { code, codes, escaped, page, table } from './markdown.ts'

/** Every component, in the order in which a cluster starts them. */
export const components: readonly ComponentDeclaration<FlagDeclarations>[] = [
  apiServer,
  controllerManager,
  scheduler,
  nodeAgent,
  loadBalancer,
  stageRunner,
  consoleProgram,
]

function controllerList(): string[] {
  return [
    '## Controllers',
    'In the order in which they start. `--controllers` names them.',
    table(
      ['controller', 'older names', 'default'],
      controllers.map(({ name, aliases, defaultOn }) => [
        code(name),
        codes(aliases),
        defaultOn ? 'on' : 'off',
      ]),
    ),
  ]
}

function componentPage(component: ComponentDeclaration<FlagDeclarations>): string {
  const { name, description = '', examples = [], flags } = component
  const hasGates = Object.hasOwn(flags, 'feature-gates')
  return page(
    name,
    escaped(description),
    `\`\`\`sh\n${examples.join('\n')}\n\`\`\``,
    '`skiff up` gives each component the flags that it needs; `--set COMPONENT.FLAG=VALUE` adds one.' +
      (hasGates
        ? ' The values of `--feature-gates` are the [feature gates](feature-gates.md).'
        : ''),
    '## Flags',
    flagTable(flags),
    '## Flags of every component',
    flagTable(commonFlags),
    ...(component === controllerManager ? controllerList() : []),
  )
}

/** File name -> text. */
export function componentPages(): [string, string][] {
  return components.map((component) => [`${component.name}.md`, componentPage(component)])
}
