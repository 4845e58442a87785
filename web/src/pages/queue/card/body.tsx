/** One section by its type, with its heading. */
import type { CardSection } from "@/api/card";
import { strings } from "@/strings";
import { Section } from "../section";
import { Command } from "./command";
import { Diff } from "./diff";
import { File } from "./file";
import { Http } from "./http";
import { Image } from "./image";
import { Kubernetes } from "./kubernetes";
import { PlacesProvider } from "./leaf";
import { Message } from "./message";
import { Money } from "./money";
import { Other } from "./other";
import { Sql } from "./sql";
import { StepHead } from "./step";
import { Table } from "./table";
import { Text } from "./text";
import { Tree } from "./tree";

export function SectionPart({ section }: { section: CardSection }) {
  return (
    <PlacesProvider section={section}>
      <Section title={section.title ?? strings.queue.card.type[section.type]}>
        <div className="contents" data-section={section.type}>
          <Body section={section} />
        </div>
      </Section>
    </PlacesProvider>
  );
}

function Body({ section }: { section: CardSection }) {
  switch (section.type) {
    case "command":
      return <Command section={section} />;
    case "diff":
      return <Diff section={section} />;
    case "sql":
      return <Sql section={section} />;
    case "money":
      return <Money section={section} />;
    case "message":
      return <Message section={section} />;
    case "http":
      return <Http section={section} />;
    case "kubernetes":
      return <Kubernetes section={section} />;
    case "table":
      return <Table section={section} />;
    case "tree":
      return <Tree section={section} />;
    case "text":
      return <Text section={section} />;
    case "image":
      return <Image section={section} />;
    case "file":
      return <File section={section} />;
    case "step":
      return <StepHead section={section} number={section.step ?? 1} />;
    case "other":
      return <Other section={section} />;
  }
}
