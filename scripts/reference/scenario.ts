/** The page of the scenario file, and its JSON Schema. */
import { scenarioSchema, stepFails, stepTitle } from '../../scenarios/engine/scenario-schema.ts'
import { scenarioShape, stepKinds } from '../../scenarios/engine/scenario.ts'
import type { Shape } from '../../cluster/shape.ts'
import type { StepKind } from '../../scenarios/engine/step.ts'
import { code, escaped, page, table } from './markdown.ts'

/** A field and the fields below it, by path. */
function fieldRows(shape: Shape<unknown>, prefix = ''): string[][] {
  return Object.entries(shape.fields ?? {}).flatMap(([name, field]) => {
    const path = `${prefix}${name}`
    const { description = '' } = field.schema as { description?: string }
    const row = [
      code(path),
      escaped(field.what),
      'isOptional' in field ? '' : 'yes',
      escaped(description),
    ]
    return [row, ...fieldRows(field, `${path}.`)]
  })
}

export const fieldTable = (shape: Shape<unknown>): string =>
  table(['field', 'value', 'required', 'description'], fieldRows(shape))

function stepSection({ name, summary, shape }: StepKind): string {
  const fields =
    shape.fields === undefined ? `Value: ${escaped(shape.what)}.` : fieldTable(shape).trim()
  return `### ${name}\n\n${escaped(summary)}\n\n${fields}`
}

export function scenarioPage(): string {
  return page(
    'Scenario file',
    'Every field of a scenario file and of each step. [Scenarios](../scenarios.md) explains them with examples.',
    'The file is YAML. Editors with a YAML language server, such as VS Code with its YAML extension, complete and check it by ' +
      '[the JSON Schema](scenario.schema.json) when the first line of the file names the schema, relative to the file or as a URL. ' +
      'The site has it at `/reference/scenario.schema.json`, the package at `docs/reference/scenario.schema.json`:',
    '```yaml\n# yaml-language-server: $schema=node_modules/skiff/docs/reference/scenario.schema.json\n' +
      'description: A namespace can be created.\nsteps:\n' +
      '  - create: { apiVersion: v1, kind: Namespace, metadata: { name: demo } }\n' +
      '  - expect: { kind: Namespace, name: demo, where: status.phase == Active }\n```',
    'A setting of the editor does the same for all files of a folder, without that line:',
    '```json\n{ "yaml.schemas": { "node_modules/skiff/docs/reference/scenario.schema.json": "scenarios/*.yaml" } }\n```',
    '## Fields',
    fieldTable(scenarioShape),
    '## Steps',
    'A step is a mapping with the name of its kind, and may have two more fields.',
    table(
      ['field', 'value', 'description'],
      [
        [code('name'), 'a string', escaped(stepTitle)],
        [code('fails'), 'a regular expression', escaped(stepFails)],
      ],
    ),
    'Any value may hold variables, `${name}`; a value that is nothing but one variable takes its type.',
    ...stepKinds.map(stepSection),
  )
}

export function scenarioSchemaFile(): string {
  return `${JSON.stringify(scenarioSchema(), null, 2)}\n`
}
