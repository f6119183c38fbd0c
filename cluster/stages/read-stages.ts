/** Reads Stage files of kwok. What is wrong or not supported is an error that names file, line and field. */
import { readFileSync } from 'node:fs'
import { messageOf } from '../../components/component-base/log.ts'
import { compileStage } from '../../components/stage-runner/lifecycle.ts'
import { sameKind } from '../../components/stage-runner/stage.ts'
import type { Stage } from '../../components/stage-runner/stage.ts'
import { StageError } from '../../components/stage-runner/stage-error.ts'
import { parseLocatedDocuments, YamlError } from '../located-yaml.ts'
import type { LocatedDocument } from '../located-yaml.ts'
import { pathText } from '../path.ts'
import type { Issue } from '../shape.ts'
import { defaultStages } from './default-stages.ts'
import { stageOfDocument } from './stage-of-document.ts'
import { stageShape } from './stage-shape.ts'

const apiVersion = 'kwok.x-k8s.io/v1alpha1'
/** Stands for kwok's own stages of nodes and pods. */
export const defaultName = 'default'

/** All that is wrong with Stage files, a line for each. */
export class StageFilesError extends Error {
  readonly faults: readonly string[]
  constructor(faults: readonly string[], cause?: unknown) {
    super(faults.join('\n'), cause === undefined ? undefined : { cause })
    this.name = 'StageFilesError'
    this.faults = faults
  }
}

export interface StageFile {
  readonly file: string
  readonly text: string
}

/** The one fault of a document that is no Stage; undefined for a Stage. */
function foreign(value: unknown): string | undefined {
  const { apiVersion: found, kind } = (value ?? {}) as Record<string, unknown>
  if (kind !== 'Stage')
    return `kind ${String(kind)} is no Stage: create other objects in the cluster itself`
  return found === apiVersion ? undefined : `apiVersion ${String(found)} is not ${apiVersion}`
}

/** The stage of a document, or what is wrong with it. */
function stageIn(document: LocatedDocument, { file, text }: StageFile): Stage | readonly string[] {
  const faultAt = ({ path, message }: Issue): string => {
    const where = path.length === 0 ? '' : ` ${pathText(path)}:`
    return `${file}:${document.lineOf(path)}:${where} ${message}`
  }
  const reason = foreign(document.value)
  if (reason !== undefined) return [faultAt({ path: [], message: reason })]
  const issues: Issue[] = []
  const checked = stageShape.check(document.value, [], issues)
  if (issues.length > 0) return issues.map(faultAt)
  const source = { file, lines: text.split('\n'), lineOf: document.lineOf.bind(document) }
  const stage = stageOfDocument(checked, source, issues)
  if (issues.length > 0) return issues.map(faultAt)
  try {
    compileStage(stage)
    return stage
  } catch (error) {
    if (!(error instanceof StageError)) throw error
    return [error.message]
  }
}

/** Stages of texts. Throws a StageFilesError. */
export function parseStages(files: readonly StageFile[]): readonly Stage[] {
  const stages: Stage[] = []
  const faults: string[] = []
  for (const one of files) {
    try {
      const documents = parseLocatedDocuments(one.text)
      for (const document of documents.filter(
        ({ value }) => value !== null && value !== undefined,
      )) {
        const found = stageIn(document, one)
        if ('name' in found) stages.push(found)
        else faults.push(...found)
      }
    } catch (error) {
      if (!(error instanceof YamlError)) throw error
      faults.push(`${one.file}:${error.line}: ${error.message}`)
    }
  }
  if (faults.length > 0) throw new StageFilesError(faults)
  return stages
}

/**
 * The stages of files; `default` stands for those of nodes and pods that kwokctl has, which also join where the files have none for that
 * kind. Throws a StageFilesError.
 */
export function readStages(files: readonly string[]): readonly Stage[] {
  const given = parseStages(
    files
      .filter((file) => file !== defaultName)
      .map((file) => {
        try {
          return { file, text: readFileSync(file, 'utf8') }
        } catch (error) {
          throw new StageFilesError([`${file}: ${messageOf(error)}`], error)
        }
      }),
  )
  const missing = parseStages(defaultStages).filter(
    ({ resource }) => !given.some((stage) => sameKind(stage.resource, resource)),
  )
  return [...given, ...missing]
}
