/** Writes docs/reference/ from what the code declares: `npm run reference`. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { apiPage } from './reference/api.ts'
import { commandsPage } from './reference/commands.ts'
import { componentPages, components } from './reference/components.ts'
import { exitCodesPage } from './reference/exit-codes.ts'
import { featureGatesPage } from './reference/feature-gates.ts'
import { page } from './reference/markdown.ts'
import { kindsPage } from './reference/kinds.ts'
import { lessonPage, lessonSchemaFile } from './reference/lesson.ts'
import { metricsPage } from './reference/metrics.ts'
import { scenarioPage, scenarioSchemaFile } from './reference/scenario.ts'
import { simulationPage } from './reference/simulation.ts'

function indexPage(): string {
  const flags = components.map(({ name }) => `[${name}](${name}.md)`).join(', ')
  return page(
    'Reference',
    'Every name that skiff has, generated from the code.',
    [
      '- [Commands](commands.md): each command of `skiff` with its arguments, flags and examples',
      '- [Exit codes](exit-codes.md)',
      `- Flags of the components: ${flags}`,
      '- [Feature gates](feature-gates.md)',
      '- [API groups, versions and kinds](api.md)',
      '- [What acts on each kind](kinds.md)',
      '- [Simulation annotations](simulation.md)',
      '- [Scenario file](scenario.md), and its [JSON Schema](scenario.schema.json)',
      '- [Lesson file](lesson.md), and its [JSON Schema](lesson.schema.json)',
      '- [Metrics](metrics.md)',
    ].join('\n'),
  )
}

/** File name -> text, for every file of docs/reference/. */
export async function generateReference(): Promise<ReadonlyMap<string, string>> {
  return new Map([
    ['index.md', indexPage()],
    ['commands.md', await commandsPage()],
    ['exit-codes.md', exitCodesPage()],
    ...componentPages(),
    ['feature-gates.md', featureGatesPage()],
    ['api.md', apiPage()],
    ['kinds.md', kindsPage()],
    ['simulation.md', simulationPage()],
    ['scenario.md', scenarioPage()],
    ['scenario.schema.json', scenarioSchemaFile()],
    ['lesson.md', lessonPage()],
    ['lesson.schema.json', lessonSchemaFile()],
    ['metrics.md', metricsPage()],
  ])
}

if (import.meta.main) {
  const folder = join(import.meta.dirname, '..', 'docs', 'reference')
  mkdirSync(folder, { recursive: true })
  for (const [name, text] of await generateReference()) writeFileSync(join(folder, name), text)
}
