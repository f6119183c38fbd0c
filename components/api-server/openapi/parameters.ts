/** The parameters of operations: those of paths, and the query parameters of each action. */

export interface Parameter {
  readonly name: string
  readonly in: 'path' | 'query'
  readonly type: 'string' | 'integer' | 'boolean'
  readonly description: string
}

function query(name: string, type: Parameter['type'], description: string): Parameter {
  return { name, in: 'query', type, description }
}

export function pathParameter(name: string, description: string): Parameter {
  return { name, in: 'path', type: 'string', description }
}

export const pretty = query(
  'pretty',
  'string',
  "If 'true', then the output is pretty printed. Defaults to 'false' unless the user-agent indicates a browser or command-line HTTP tool (curl and wget).",
)

const dryRun = query(
  'dryRun',
  'string',
  'When present, nothing is stored. The one valid value is All: every stage of the request runs but the last.',
)
const fieldManager = query(
  'fieldManager',
  'string',
  'The name of the actor that makes the change, at most 128 printable characters. Required for apply patches.',
)
const fieldValidation = query(
  'fieldValidation',
  'string',
  'What to do about unknown and duplicate fields: Ignore drops them, Warn (the default) also sends a warning, Strict fails the request.',
)
const force = query(
  'force',
  'boolean',
  'Takes fields over that another manager owns. For apply patches only.',
)
const resourceVersion = query(
  'resourceVersion',
  'string',
  'The state of the store that the request may be served from.',
)

export const listParameters: readonly Parameter[] = [
  query('allowWatchBookmarks', 'boolean', 'Asks a watch for BOOKMARK events.'),
  query('continue', 'string', 'The token of an earlier page; asks for the next one.'),
  query('fieldSelector', 'string', 'Restricts the objects by their fields.'),
  query('labelSelector', 'string', 'Restricts the objects by their labels.'),
  query('limit', 'integer', 'The most objects of one page.'),
  resourceVersion,
  query('resourceVersionMatch', 'string', 'How resourceVersion applies to a list.'),
  query('sendInitialEvents', 'boolean', 'Has a watch begin with the objects that exist.'),
  query('timeoutSeconds', 'integer', 'How long a list or watch may take.'),
  query('watch', 'boolean', 'Watches for changes instead of listing.'),
]

export const writeParameters: readonly Parameter[] = [dryRun, fieldManager, fieldValidation]

export const patchParameters: readonly Parameter[] = [...writeParameters, force]

export const deleteParameters: readonly Parameter[] = [
  dryRun,
  query('gracePeriodSeconds', 'integer', 'Seconds before the object goes; 0 is at once.'),
  query(
    'ignoreStoreReadErrorWithClusterBreakingPotential',
    'boolean',
    'Deletes an object that cannot be read, without finalizers and preconditions.',
  ),
  query('orphanDependents', 'boolean', 'Deprecated: use propagationPolicy.'),
  query(
    'propagationPolicy',
    'string',
    'What happens to dependents: Orphan, Background or Foreground.',
  ),
]

export const logParameters: readonly Parameter[] = [
  query('container', 'string', 'The container; needed when the pod has several.'),
  query('follow', 'boolean', 'Goes on with what is written from now on.'),
  query('insecureSkipTLSVerifyBackend', 'boolean', "Does not verify the node agent's certificate."),
  query('limitBytes', 'integer', 'The most bytes to read.'),
  pretty,
  query('previous', 'boolean', 'The log of the container that ran before.'),
  query('sinceSeconds', 'integer', 'Only lines of the last seconds.'),
  query('stream', 'string', 'Which stream: All, Stdout or Stderr.'),
  query('tailLines', 'integer', 'Only this many lines from the end.'),
  query('timestamps', 'boolean', 'Puts a timestamp before each line.'),
]
